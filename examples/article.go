package examples

// Article is an article of a blog, whose start page has a cloud of its tags.
type Article struct {
	ID    string `kv:"id"`
	Title string
	Tags  []string `kv:"list,values"` // the articles with each tag, and which tags there are
}
