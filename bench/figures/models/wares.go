package models

import "time"

// Ware is a small record that stands in five indexes.
type Ware struct {
	ID        string    `kv:"id"`
	Code      string    `kv:"unique"`
	Shelf     string    `kv:"list"`
	Maker     string    `kv:"list"`
	ChangedAt time.Time `kv:"timeline"`
	Price     int64     `kv:"ranking"`
}
