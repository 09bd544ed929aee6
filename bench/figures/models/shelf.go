package models

// Shelf is a model with five indexes.
type Shelf struct {
	_      struct{} `kv:"model,plural=Shelves,if=Live"`
	ID     string   `kv:"id"`
	Room   string   `kv:"unique=Place"`
	Number int      `kv:"unique=Place"`
	Label  string   `kv:"unique"`
	Codes  []string `kv:"unique,if=Listed"`
	Mail   string   `kv:"unique"`
	Listed bool
	Gone   bool
}

// Live reports whether the shelf is still there.
func (s *Shelf) Live() bool { return !s.Gone }

// Sign is what is written on the shelf.
//
//kv:unique
func (s *Shelf) Sign() string { return s.Room + " " + s.Label }
