package models

// Mark is an edge without an index, of which it is known how many there are.
type Mark struct {
	_    struct{} `kv:"model,count"`
	User string   `kv:"id"`
	Page string   `kv:"id"`
}
