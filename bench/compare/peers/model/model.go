// Package model is the data of the comparison as written by a user of ringtree.
package model

import "time"

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

// Follow is an edge: User follows Topic.
type Follow struct {
	Topic int64 `kv:"id; list"`
	User  int64 `kv:"id"`
}

// Visit is a footprint: Visitor was at Owner's page.
type Visit struct {
	_       struct{} `kv:"events,by=Owner,once=Visitor,keep=30"`
	Owner   int64
	Visitor int64
	At      time.Time
}
