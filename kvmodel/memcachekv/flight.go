package memcachekv

import (
	"context"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type flight struct {
	server *server
	gets   []*kv.Op
	writes []*kv.Op
}

func (s *Store) flights(ops []kv.Op) []*flight {
	var all []*flight
	for i := range ops {
		op := &ops[i]
		if op.Result.Err != nil {
			continue
		}
		srv := pick(s.servers, op.Key)
		at := slices.IndexFunc(all, func(f *flight) bool { return f.server == srv })
		if at < 0 {
			at = len(all)
			all = append(all, &flight{server: srv})
		}
		all[at].add(op, len(ops)-i)
	}
	return all
}

func (f *flight) add(op *kv.Op, most int) {
	list := &f.writes
	if op.Kind == kv.Get {
		list = &f.gets
	}
	if *list == nil {
		*list = make([]*kv.Op, 0, most)
	}
	*list = append(*list, op)
}

// fly runs the first flight on the caller's goroutine.
func fly(ctx context.Context, flights []*flight) {
	var wg sync.WaitGroup
	for _, f := range flights[1:] {
		wg.Go(func() { f.run(ctx) })
	}
	flights[0].run(ctx)
	wg.Wait()
}

func (f *flight) run(ctx context.Context) {
	switch {
	case len(f.gets)+len(f.writes) == 1:
		f.server.do(ctx, slices.Concat(f.gets, f.writes)[0])
	case len(f.writes) == 0 && f.server.opts.PipelineWrites:
		f.server.getAll(ctx, f.gets)
	default:
		f.server.batch(ctx, f.writes, f.gets)
	}
}
