package costs

import "time"

//go:generate go tool kvgen

// Each model has one clause, so that its rows show the cost of it.

// Plain has no index.
type Plain struct {
	ID   string `kv:"id"`
	Text string
}

// Heard has a handler of its changes.
type Heard struct {
	ID   string `kv:"id"`
	Text string
}

// Kept has a history.
type Kept struct {
	_    struct{} `kv:"model,history=20"`
	ID   string   `kv:"id"`
	Text string
}

// Named has a unique value.
type Named struct {
	ID   string `kv:"id"`
	Slug string `kv:"unique"`
	Text string
}

// Listed is in the list of its owner.
type Listed struct {
	ID    string `kv:"id"`
	Owner string `kv:"list"`
	Text  string
}

// Tagged is in a list for each of its tags.
type Tagged struct {
	ID   string   `kv:"id"`
	Tags []string `kv:"list"`
	Text string
}

// Summed is counted in all.
type Summed struct {
	_    struct{} `kv:"model,count,plural=AllSummed"`
	ID   string   `kv:"id"`
	Text string
}

// Leased lives until a time, and is in the list of its owner.
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

// Valued is in a list for each of its tags, with counted values.
type Valued struct {
	ID   string   `kv:"id"`
	Tags []string `kv:"list,values"`
	Text string
}

// Vote is an edge without an index.
type Vote struct {
	User string `kv:"id"`
	Page string `kv:"id"`
}

// Photo has a count of its Likes.
type Photo struct {
	ID    string `kv:"id"`
	Text  string
	Likes int64 `kv:"counter"`
}

// Like is an edge with a list on both sides, one of them counted.
type Like struct {
	User  string `kv:"id; list"`
	Photo string `kv:"id; list; count=Photo.Likes"`
}

// Talk has the counts and the sum of its Ballots.
type Talk struct {
	ID    string `kv:"id"`
	Votes int64  `kv:"counter"`
	Score int64  `kv:"counter"`
}

// Ballot is an edge that is counted and summed.
type Ballot struct {
	User  string `kv:"id; list"`
	Talk  string `kv:"id; list; count=Talk.Votes; sum=Talk.Score,of=Value"`
	Value int64
	Text  string
}

// Ticket has a number.
type Ticket struct {
	ID   int64 `kv:"id,seq"`
	Text string
}

// Invoice has a number, and is in the list of its owner.
type Invoice struct {
	ID    int64  `kv:"id,seq"`
	Owner string `kv:"list"`
	Text  string
}

// Seen is counted.
type Seen struct {
	ID    string `kv:"id"`
	Text  string
	Views int64 `kv:"counter"`
}

// Note is in the timeline of all.
type Note struct {
	ID   string `kv:"id"`
	Rest string
	Text string `kv:"timeline"`
}

// Post is in the timeline of its author.
type Post struct {
	ID     string    `kv:"id"`
	Author string    // whose timeline
	Made   time.Time `kv:"timeline,by=Author"`
	Text   string
}

// Story is in a timeline for each of its tags.
type Story struct {
	ID   string    `kv:"id"`
	Tags []string  // whose timelines
	Made time.Time `kv:"timeline,by=Tags"`
	Text string
}

// Visit is an event. Packed and Ringed are the same in the other layouts.
type Visit struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

// Packed is a Visit in another layout.
type Packed struct {
	_     struct{} `kv:"events,by=Owner,once=Guest,keep=30,layout=packed,plural=AllPacked"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

// Ringed is a Visit in another layout.
type Ringed struct {
	_     struct{} `kv:"events,by=Owner,keep=30,layout=ring,plural=AllRinged"`
	Owner string   `msgpack:"o"`
	Guest string   `msgpack:"g"`
}

// Priced is on a board by a field.
type Priced struct {
	ID    string `kv:"id"`
	Price int64  `kv:"ranking"`
	Text  string
}

// Good is on the board of its category.
type Good struct {
	ID       string `kv:"id"`
	Category string // whose board
	Price    int64  `kv:"ranking,by=Category"`
	Text     string
}

// Article is on the board of each of its tags.
type Article struct {
	ID   string   `kv:"id"`
	Tags []string // whose boards
	Made int64    `kv:"ranking,by=Tags"`
	Text string
}

// Tied is on two boards with equal scores: one with the latest first, one with ranks without gaps.
type Tied struct {
	ID    string    `kv:"id"`
	Made  time.Time `kv:"created"`
	Stars int64     `kv:"ranking,ties=newest; ranking,name=Chart,ties=dense"`
	Text  string
}

// Titled is on a board of words.
type Titled struct {
	ID    string `kv:"id"`
	Title string `kv:"ranking"`
	Text  string
}

// Viewed is on a board by its counter.
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

// Daily is on a board for each day.
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

// File is deleted with its Folder.
type File struct {
	ID     string `kv:"id"`
	Folder string `kv:"list,with=Folder"`
	Text   string
}
