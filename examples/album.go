package examples

// Album is a music album. It is in the list of its artist, in the lists of its tags, which hundreds
// write to at once, and in the list of its shelf in its shop. It has counters, a history and a
// total count.
type Album struct {
	_      struct{} `kv:"model,count,history=20"`
	ID     string   `kv:"id"`
	Artist string   `kv:"list"`
	Tags   []string `kv:"list,hot=16"`
	Shop   string   `kv:"list=ShopShelf"`
	Shelf  int      `kv:"list=ShopShelf"`
	Title  string
	Plays  int64 `kv:"counter"`
	Hearts int64 `kv:"counter"` // the number of its Hearts
}

// Heart is one user's love of one album. Both sides can list them.
type Heart struct {
	User  string `kv:"id; list"`
	Album string `kv:"id; list; count=Album.Hearts"`
}

// Ticket is a request to the shop, numbered from 1.
type Ticket struct {
	ID   int64 `kv:"id,seq"`
	Text string
}
