package models

// Title is a record that stands on a board of words.
type Title struct {
	ID   string `kv:"id"`
	Text string `kv:"ranking"`
}

// Weight is a record like a Title that stands on a board of numbers.
type Weight struct {
	ID    string `kv:"id"`
	Text  string
	Grams int64 `kv:"ranking"`
}
