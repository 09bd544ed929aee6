// Package family has a model with an index of every class, whose records have children.
package family

//go:generate go tool kvgen

type Parent struct {
	_      struct{} `kv:"model,count,history=5"`
	ID     string   `kv:"id"`
	Slug   string   `kv:"unique"`
	Author string   `kv:"list; timeline,by=Author,ring=40"`
	Tags   []string `kv:"list,values"`
	Room   string   `kv:"list,hot=4"`
	Title  string   `kv:"timeline,ring=200,segment=8; ranking,locale=sv"`
	Note   string   `kv:"timeline,name=Notes,ring=60,shards=2"`
	Price  int64    `kv:"ranking; ranking,by=Author"`
	Views  int64    `kv:"counter; ranking; ranking,per=day,keep=3"`
	Sons   int64    `kv:"counter; ranking"`
}

// Weight ranks a parent by a field and a counter.
//
//kv:ranking
func (p *Parent) Weight() int64 { return p.Price + 10*p.Sons }

type Child struct {
	_      struct{} `kv:"model,plural=Children"`
	ID     string   `kv:"id"`
	Parent string   `kv:"list,with=Parent; count=Parent.Sons"`
	Toys   string   `kv:"list"`
}
