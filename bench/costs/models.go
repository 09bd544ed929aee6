package costs

import "time"

//go:generate go tool kvgen

// Each model has one clause, so that its rows show the cost of it.

type Plain struct {
	ID   string `kv:"id"`
	Text string
}

type Heard struct {
	ID   string `kv:"id"`
	Text string
}

type Kept struct {
	_    struct{} `kv:"model,history=20"`
	ID   string   `kv:"id"`
	Text string
}

type Named struct {
	ID   string `kv:"id"`
	Slug string `kv:"unique"`
	Text string
}

type Listed struct {
	ID    string `kv:"id"`
	Owner string `kv:"list"`
	Text  string
}

type Tagged struct {
	ID   string   `kv:"id"`
	Tags []string `kv:"list"`
	Text string
}

type Summed struct {
	_    struct{} `kv:"model,count,plural=AllSummed"`
	ID   string   `kv:"id"`
	Text string
}

type Leased struct {
	ID    string    `kv:"id"`
	Owner string    `kv:"list"`
	Until time.Time `kv:"expires"`
	Text  string
}

// Lent is a Leased without an index.
type Lent struct {
	ID    string    `kv:"id"`
	Until time.Time `kv:"expires"`
	Text  string
}

type Valued struct {
	ID   string   `kv:"id"`
	Tags []string `kv:"list,values"`
	Text string
}

type Vote struct {
	User string `kv:"id"`
	Page string `kv:"id"`
}

type Photo struct {
	ID    string `kv:"id"`
	Text  string
	Likes int64 `kv:"counter"`
}

type Like struct {
	User  string `kv:"id; list"`
	Photo string `kv:"id; list; count=Photo.Likes"`
}

type Talk struct {
	ID    string `kv:"id"`
	Votes int64  `kv:"counter"`
	Score int64  `kv:"counter"`
}

type Ballot struct {
	User  string `kv:"id; list"`
	Talk  string `kv:"id; list; count=Talk.Votes; sum=Talk.Score,of=Value"`
	Value int64
	Text  string
}

type Ticket struct {
	ID   int64 `kv:"id,seq"`
	Text string
}

type Invoice struct {
	ID    int64  `kv:"id,seq"`
	Owner string `kv:"list"`
	Text  string
}

type Seen struct {
	ID    string `kv:"id"`
	Text  string
	Views int64 `kv:"counter"`
}

type Note struct {
	ID   string `kv:"id"`
	Rest string
	Text string `kv:"timeline"`
}

type Post struct {
	ID     string `kv:"id"`
	Author string
	Made   time.Time `kv:"timeline,by=Author"`
	Text   string
}

type Story struct {
	ID   string `kv:"id"`
	Tags []string
	Made time.Time `kv:"timeline,by=Tags"`
	Text string
}

// Visit is an event. Packed and Ringed are the same in the other layouts.
type Visit struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

type Packed struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30,layout=packed,plural=AllPacked"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

type Ringed struct {
	_     struct{} `kv:"events,by=Owner,keep=30,layout=ring,plural=AllRinged"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

type Priced struct {
	ID    string `kv:"id"`
	Price int64  `kv:"ranking"`
	Text  string
}

type Good struct {
	ID       string `kv:"id"`
	Category string
	Price    int64 `kv:"ranking,by=Category"`
	Text     string
}

type Article struct {
	ID   string `kv:"id"`
	Tags []string
	Made int64 `kv:"ranking,by=Tags"`
	Text string
}

// Tied is on two boards with equal scores: one with the latest first, one with ranks without gaps.
type Tied struct {
	ID    string    `kv:"id"`
	Made  time.Time `kv:"created"`
	Stars int64     `kv:"ranking,ties=newest; ranking,name=Chart,ties=dense"`
	Text  string
}

type Titled struct {
	ID    string `kv:"id"`
	Title string `kv:"ranking"`
	Text  string
}

type Viewed struct {
	ID    string `kv:"id"`
	Text  string
	Views int64 `kv:"counter; ranking"`
}

// Played is on a board that follows at once.
type Played struct {
	ID    string `kv:"id"`
	Text  string
	Plays int64 `kv:"counter,batch=every; ranking"`
}

type Daily struct {
	ID    string `kv:"id"`
	Text  string
	Views int64 `kv:"counter; ranking,per=day,keep=10"`
}

// Folder deletes its Files along with itself.
type Folder struct {
	ID   string `kv:"id"`
	Text string
}

type File struct {
	ID     string `kv:"id"`
	Folder string `kv:"list,with=Folder"`
	Text   string
}
