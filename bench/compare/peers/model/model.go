// Package model is the data of the comparison as a user of ringtree writes it.
package model

import (
	"time"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

//go:generate go tool kvgen

// Page is the record of every workload.
type Page struct {
	ID        string `kv:"id"`
	Slug      string `kv:"unique"`
	Title     string
	Body      string
	Author    string
	Tags      []string
	UpdatedAt time.Time `kv:"timeline,ring=16384"`
	Views     int64     `kv:"counter; ranking,ties=shared"`
}

// PageCodec returns what encodes and decodes a Page.
func PageCodec() *codec.Model[Page] { return &pageCodec }

// Visit is a footprint: Visitor was at Owner's.
type Visit struct {
	_       struct{} `kv:"events,by=Owner,once=Visitor,keep=30"`
	Owner   int64
	Visitor int64
	At      time.Time
}

// World is a row that TechEmpower's benchmarks read and write.
type World struct {
	ID     int64 `kv:"id"`
	Number int64
}

// Fortune is a row that they show.
type Fortune struct {
	ID      int64  `kv:"id"`
	Message string `kv:"timeline,ring=100"`
}
