package whole

import "time"

//go:generate go tool kvgen

type Work struct {
	_      struct{}  `kv:"model,version=2,history=5"`
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
	Frame  string    // since version 2
	Marks  []string

	Version int64     `kv:"version"`
	Created time.Time `kv:"created"`
	Updated time.Time `kv:"updated"`
}

// Upgrade gives the works of the first release a frame.
func (w *Work) Upgrade(from int) error {
	if from < 2 {
		w.Frame = "oak"
	}
	return nil
}

// Weight ranks a work by a field and a counter.
//
//kv:ranking,name=Front
func (w *Work) Weight() int64 { return w.Price + 10*w.Likes }

type Like struct {
	User string `kv:"id; list"`
	Work string `kv:"id; list; count=Work.Likes"`
}

type Offer struct {
	ID    string    `kv:"id"`
	Code  string    `kv:"unique"`
	Kind  string    `kv:"list"`
	Until time.Time `kv:"expires"`
}

// Bid is in rankings of more than one node.
type Bid struct {
	ID    string `kv:"id"`
	Kind  string
	Price int64 `kv:"ranking; ranking,by=Kind"`
}

type Ticket struct {
	ID   int64  `kv:"id,seq"`
	Text string `kv:"list"`
}
