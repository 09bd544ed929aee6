package examples

// Book is a book in a catalog, from A to Z by its title, and on the shelf of its language.
type Book struct {
	ID       string `kv:"id"`
	Title    string `kv:"ranking; ranking,by=Language"`
	Language string
}
