package main

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/bench/compare/place"
)

const benchSize = 10_000

// For benchstat:
//
//	go test -run - -bench . -count 10 ./compare > new.txt
func BenchmarkStore(b *testing.B) {
	at := place.StartAll(b)
	at.Dir = b.TempDir()
	for _, name := range []string{"ringtree-memory", "ringtree-file", "ringtree-redis", "ringtree-memcached"} {
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
		if place.Missing(k.server) != nil {
			continue
		}
		b.Run(strings.TrimPrefix(name, "ringtree-"), func(b *testing.B) {
			s, err := open(b.Context(), job{Peer: name, Place: at, Size: benchSize, Load: [dataSets]bool{onPages: true, onSite: true}})
			must(b, err)
			defer s.close()
			for _, w := range workloads {
				if s.on[w.on] == nil {
					continue
				}
				b.Run(w.name, func(b *testing.B) { s.bench(b, w) })
			}
		})
	}
}

func (s *subject) bench(b *testing.B, w workload) {
	ctx, cancel := context.WithCancel(b.Context()) // as those of requests
	defer cancel()
	do, err := w.prepare(ctx, s, usualWrites)
	must(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := do(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
	// The steps after a reply belong to the work.
	must(b, s.flush(ctx))
}
