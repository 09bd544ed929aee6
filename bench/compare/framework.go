package main

import (
	"cmp"
	"context"
	"html/template"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// The workloads of TechEmpower's comparison of web frameworks, without the web server.

// rowsOf makes of an operation on rows one for the peers that have them.
func rowsOf(work func(context.Context, peers.Framework, *rand.Rand) error) func(context.Context, peers.Peer, int) (op, error) {
	return func(_ context.Context, p peers.Peer, _ int) (op, error) {
		f, ok := p.(peers.Framework)
		if !ok {
			return nil, errUnable
		}
		return func(ctx context.Context, r *rand.Rand) error { return work(ctx, f, r) }, nil
	}
}

// anyWorlds returns different ids.
func anyWorlds(r *rand.Rand) []int64 {
	ids := make([]int64, 0, 20)
	for len(ids) < cap(ids) {
		if id := 1 + r.Int64N(peers.WorldCount); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

var (
	single = rowsOf(func(ctx context.Context, f peers.Framework, r *rand.Rand) error {
		_, err := f.World(ctx, 1+r.Int64N(peers.WorldCount))
		return err
	})
	queries = rowsOf(func(ctx context.Context, f peers.Framework, r *rand.Rand) error {
		_, err := f.Worlds(ctx, anyWorlds(r))
		return err
	})
	updates = rowsOf(func(ctx context.Context, f peers.Framework, r *rand.Rand) error {
		by := r.Int64N(peers.WorldCount)
		return f.SetWorlds(ctx, anyWorlds(r), func(id int64) int64 { return 1 + (id+by)%peers.WorldCount })
	})
	fortunes = rowsOf(func(ctx context.Context, f peers.Framework, r *rand.Rand) error {
		all, err := f.Fortunes(ctx)
		if err != nil {
			return err
		}
		all = append(all, peers.Fortune{Message: "Additional fortune added at request time."})
		slices.SortFunc(all, func(a, b peers.Fortune) int { return cmp.Compare(a.Message, b.Message) })
		return fortunePage.Execute(io.Discard, all)
	})
)

var fortunePage = template.Must(template.New("").Parse(`<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>
<tr><th>id</th><th>message</th></tr>{{range .}}<tr><td>{{.ID}}</td><td>{{.Message}}</td></tr>{{end}}</table></body></html>`))
