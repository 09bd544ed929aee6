package models

import "time"

// Good is a record of about a KiB that stands in an index of each kind.
type Good struct {
	ID        string `kv:"id"`
	Code      string `kv:"unique"`
	Shelf     string `kv:"list"`
	Text      string
	ChangedAt time.Time `kv:"timeline"`
	Price     int64     `kv:"ranking"`
}
