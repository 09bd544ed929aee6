// Package before has the model Work as an earlier release of an app had it.
package before

import "time"

//go:generate go tool kvgen

type Work struct {
	_      struct{}  `kv:"model,history=5"`
	ID     string    `kv:"id"`
	Slug   string    `kv:"unique"`
	Author string    `kv:"list; timeline,by=Author,ring=40"`
	Tags   []string  `kv:"list"`
	Room   string    `kv:"list=RoomShelf,hot=4"`
	Shelf  int       `kv:"list=RoomShelf"`
	Title  string    `kv:"timeline,ring=200,segment=8"`
	Note   string    `kv:"timeline,name=Notes,ring=60,shards=2"`
	Price  int64     `kv:"ranking; ranking,by=Author"`
	Grade  float64   `kv:"ranking,order=low,ties=shared,scale=2"`
	Taken  time.Time `kv:"ranking,name=Archive"`
	Views  int64     `kv:"counter; ranking; ranking,per=day,keep=3"`
	Likes  int64     `kv:"counter; ranking"`
	Marks  []string

	Version int64     `kv:"version"`
	Created time.Time `kv:"created"`
	Updated time.Time `kv:"updated"`
}

// Weight ranks a work by a field and a counter.
//
//kv:ranking,name=Front
func (w *Work) Weight() int64 { return w.Price + 10*w.Likes }
