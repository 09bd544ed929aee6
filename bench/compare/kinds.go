package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/bench/compare/peers"
	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/compare/site"
)

type dataSet int

const (
	onPages dataSet = iota
	onSite
	onForum
	dataSets
)

// kind is a peer, with a loader for each data set that it supports.
type kind struct {
	name, server, durable string
	loaders               [dataSets]loader
}

type loader interface {
	load(ctx context.Context, at place.Place, size int) (loaded, error)
	files(at place.Place) []string
}

type loaded interface {
	Flush(ctx context.Context) error
	Close() error
}

// kinds has ringtree's last.
var kinds = func() (all []kind) {
	all = with(all, onSite, site.All, site.New, func(s site.Site, d *site.Data) loaded { return visitor{s, d} })
	all = with(all, onForum, site.Forums, site.NewThreads, func(f site.Forum, d *site.Threads) loaded { return member{f, d} })
	all = with(all, onPages, peers.All, func(n int) int { return n }, func(p peers.Peer, n int) loaded { return operator{p, n} })
	slices.SortStableFunc(all, func(a, b kind) int { return cmp.Compare(a.ours(), b.ours()) })
	return all
}()

// with adds the loaders of peers for one data set. as combines a peer with its data.
func with[P filled[D], D any](all []kind, on dataSet, peers []place.Kind[P], data func(size int) D, as func(P, D) loaded) []kind {
	for _, p := range peers {
		i := slices.IndexFunc(all, func(k kind) bool { return k.name == p.Name })
		if i < 0 {
			i = len(all)
			all = append(all, kind{name: p.Name, server: p.Server, durable: p.Durable})
		}
		all[i].loaders[on] = source[P, D]{p, data, as}
	}
	return all
}

type filled[D any] interface {
	loaded
	Load(context.Context, D) error
}

type source[P filled[D], D any] struct {
	kind place.Kind[P]
	data func(size int) D
	as   func(P, D) loaded
}

func (s source[P, D]) load(ctx context.Context, at place.Place, size int) (loaded, error) {
	p, err := s.kind.Open(ctx, at)
	if err != nil {
		return nil, err
	}
	d := s.data(size)
	if err := p.Load(ctx, d); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return s.as(p, d), nil
}

func (s source[P, D]) files(at place.Place) []string { return place.Files(s.kind, at) }

func (k kind) ours() int {
	if strings.HasPrefix(k.name, "ringtree-") {
		return 1
	}
	return 0
}

func (k kind) can(w workload) bool { return k.loaders[w.on] != nil }

func kindName(k kind) string         { return k.name }
func workloadName(w workload) string { return w.name }
