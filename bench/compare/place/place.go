// Package place provides storage for the peers of a comparison: a folder, and servers that it
// starts.
package place

import (
	"context"
	"path/filepath"
	"strings"
)

type Place struct {
	Dir                        string // for files
	Postgres, Redis, Memcached string // HOST:PORT of empty servers
	PostgresDir                string // PostgreSQL's data
	Pids                       map[string]int
}

// Fill inserts the folder and the addresses of p into url, for %s, %redis and %memcached.
func (p Place) Fill(url string) string {
	return strings.NewReplacer("%s", p.Dir, "%redis", p.Redis, "%memcached", p.Memcached).Replace(url)
}

// Clients is the maximum number of clients.
const Clients = 32

// Kind is a peer with the interface T.
type Kind[T any] struct {
	Name    string
	Server  string // the program of its server, or ""
	Durable string // the loss in a crash of the machine or the server
	File    string // prefix of its file names, in the folder of a place
	Open    Opener[T]
}

type Opener[T any] func(context.Context, Place) (T, error)

func Over[D, T any](open Opener[D], peer func(D) T) Opener[T] {
	return func(ctx context.Context, at Place) (p T, err error) {
		db, err := open(ctx, at)
		if err == nil {
			p = peer(db)
		}
		return p, err
	}
}

const (
	Nothing    = "nothing"
	LastWrites = "the last writes"
	Everything = "everything"
)

// Losses has the least first.
var Losses = []string{Nothing, LastWrites, Everything}

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
