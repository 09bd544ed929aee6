package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/bench/compare/peers"
	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/bench/compare/site"
)

// kind is a peer of one or both packages, or with a forum.
type kind struct {
	name, server, durable string
	work                  *place.Kind[peers.Peer]
	site                  *place.Kind[site.Site]
	forum                 *place.Kind[site.Forum]
}

// kinds are all peers, those of ringtree last.
var kinds = func() (all []kind) {
	of := func(name, server, durable string) *kind {
		i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, kind{name: name, server: server, durable: durable})
		}
		return &all[i]
	}
	for i, k := range site.All {
		of(k.Name, k.Server, k.Durable).site = &site.All[i]
	}
	for i, k := range site.Forums {
		of(k.Name, k.Server, k.Durable).forum = &site.Forums[i]
	}
	for i, k := range peers.All {
		of(k.Name, k.Server, k.Durable).work = &peers.All[i]
	}
	slices.SortStableFunc(all, func(a, b kind) int { return cmp.Compare(a.ours(), b.ours()) })
	return all
}()

// ours returns 1 for ringtree, and 0 for others.
func (k kind) ours() int {
	if strings.HasPrefix(k.name, "ringtree-") {
		return 1
	}
	return 0
}

// can reports whether a workload is for the peer.
func (k kind) can(w workload) bool {
	switch w.on {
	case onSite:
		return k.site != nil
	case onForum:
		return k.forum != nil
	}
	return k.work != nil
}

// files returns the names of the files used by a workload.
func (k kind) files(w workload, at place.Place) []string {
	switch w.on {
	case onSite:
		return place.Files(*k.site, at)
	case onForum:
		return place.Files(*k.forum, at)
	}
	return place.Files(*k.work, at)
}

func kindName(k kind) string         { return k.name }
func workloadName(w workload) string { return w.name }
