// Package models holds the records that the figures are measured with.
package models

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

//go:generate go tool kvgen

// Page is a record of ten fields and about a KiB, with one unique value.
type Page struct {
	ID        string `kv:"id"`
	Slug      string `kv:"unique"`
	Title     string
	Body      string
	Author    string
	Category  string
	Tags      []string
	CreatedAt time.Time
	UpdatedAt time.Time
	Views     int64
}

// PageCodec returns what encodes and decodes a Page.
func PageCodec() *codec.Model[Page] { return &pageCodec }

// Vote is an edge without an index.
type Vote struct {
	User string `kv:"id"`
	Page string `kv:"id"`
}
