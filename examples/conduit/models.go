package conduit

import "time"

//go:generate go tool kvgen

// User is a person who has signed up.
type User struct {
	ID       string `kv:"id"`
	Email    string `kv:"unique"`
	Username string `kv:"unique"`
	Password Hash
	Bio      string
	Image    string
}

// Follow means that Reader follows Author.
type Follow struct {
	Reader string `kv:"id; list"`
	Author string `kv:"id"`
}

// Article is an article. Lists of all articles, of an author and with a tag have numbered pages;
// the newest of several authors are a feed.
type Article struct {
	ID          string `kv:"id"`
	Slug        string `kv:"unique"`
	Title       string
	Description string
	Body        string
	Author      string    // the id of a User
	Tags        []string  `kv:"list,values"`
	Made        time.Time `kv:"created; ranking; ranking,by=Author; ranking,by=Tags; timeline,by=Author"`
	Edited      time.Time `kv:"updated"`
	Favorites   int64     `kv:"counter"` // the number of its Favorites
}

// Favorite means that User likes Article. Author is the article's, which never changes: so a page
// of favorites can load the authors before it has read the articles.
type Favorite struct {
	User    string `kv:"id; list"`
	Article string `kv:"id; list,with=Article; count=Article.Favorites"`
	Author  string `kv:"id"`
}

// Comment is a comment on an article. It is deleted with the article.
type Comment struct {
	ID      int64  `kv:"id,seq"`
	Article string `kv:"list,with=Article"`
	Author  string // the id of a User
	Body    string
	Made    time.Time `kv:"created"`
	Edited  time.Time `kv:"updated"`
}
