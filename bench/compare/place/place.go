// Package place is where the peers of a comparison keep their data: a folder, and servers
// that it starts and looks at.
package place

import (
	"context"
	"path/filepath"
	"strings"
)

// Place is where the peers of a run keep their data.
type Place struct {
	Dir                        string // for files
	Postgres, Redis, Memcached string // HOST:PORT of servers that hold nothing yet
	PostgresDir                string // what PostgreSQL keeps
	Pids                       map[string]int
}

// Fill puts the folder and the addresses of p into url, for %s, %redis and %memcached.
func (p Place) Fill(url string) string {
	return strings.NewReplacer("%s", p.Dir, "%redis", p.Redis, "%memcached", p.Memcached).Replace(url)
}

// Clients is how many clients there are at most.
const Clients = 32

// Kind is a peer that does some work as a T.
type Kind[T any] struct {
	Name    string
	Server  string // the program of the server it stands on; "" is none
	Durable string // what a crash of the machine or the server takes
	File    string // how the names of its files begin, in the folder of a place
	Open    func(context.Context, Place) (T, error)
}

// What a crash of the machine or the server takes from a peer.
const (
	Nothing    = "nothing"
	LastWrites = "the last writes"
	Everything = "everything"
)

// Losses are these, the least first.
var Losses = []string{Nothing, LastWrites, Everything}

// Files returns the names of the files in which a kind keeps its data.
func Files[T any](k Kind[T], at Place) []string {
	switch {
	case k.File != "":
		all, _ := filepath.Glob(filepath.Join(at.Dir, k.File+"*"))
		return all
	case k.Server == Postgres:
		all, _ := filepath.Glob(filepath.Join(at.PostgresDir, "base", "*", "*"))
		return all
	}
	return nil
}
