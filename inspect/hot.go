package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// HotOptions say for how long Hot counts, and what it returns.
type HotOptions struct {
	For      time.Duration // 0: ten seconds
	Top      int           // keys at most; 0: 20
	Open     bool          // keys that show a private field, too
	Progress func(Step)    // is told once a second how far it is; nil: no one is
}

// Hot is what a process has asked its store for.
type Hot struct {
	Keys   []HotKey // the most asked first
	Trips  int64
	Gets   int64 // in them
	Writes int64 // likewise
	Took   time.Duration
}

// HotKey is a key that was asked for.
type HotKey struct {
	Key    string // Masked, if it would show a private field
	Owner  string // MODEL.PART
	Known  bool   // by this program
	Gets   int64
	Writes int64
}

const (
	hotFor = 10 * time.Second
	hotTop = 20

	// heatsKept is how many keys Hot keeps when it has met twice as many.
	heatsKept = 10_000
)

// Hot counts for a while which keys this process asks its store for, so call it in the app. What is answered from memory does not count. Of many keys it
// forgets those that were asked for least, so of more than 10,000 some counts may be too low. If
// ctx ends before the time is over, Hot returns what it has counted, and an error.
func (in *Inspector) Hot(ctx context.Context, o HotOptions) (Hot, error) {
	counted := &heats{prefix: kv.PowersOf(in.db.Store()).Prefix, of: make(map[string]*heat)}
	began := time.Now()
	stop := in.db.OnTrip(counted.add)
	err := counted.await(ctx, began.Add(cmp.Or(o.For, hotFor)), o.Progress)
	stop()
	hot := in.hottest(counted, &o)
	hot.Took = time.Since(began)
	return hot, err
}

// heats is how often keys were asked for.
type heats struct {
	prefix string // of the tenant, which keys of trips have

	mu    sync.Mutex
	of    map[string]*heat
	trips int64
	all   heat
}

type heat struct {
	key          string
	gets, writes int64
}

// add counts a trip.
func (h *heats) add(_ context.Context, t kvmodel.Trip) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trips++
	for i := range t.Ops {
		if op := &t.Ops[i]; !op.Result.Near {
			h.count(op)
		}
	}
	if len(h.of) >= 2*heatsKept {
		for _, cold := range h.sorted()[heatsKept:] {
			delete(h.of, cold.key)
		}
	}
}

func (h *heats) count(op *kv.Op) {
	of := h.of[op.Key]
	if of == nil {
		of = &heat{key: strings.Clone(op.Key)}
		h.of[of.key] = of
	}
	for _, each := range []*heat{of, &h.all} {
		if op.Kind == kv.Get {
			each.gets++
		} else {
			each.writes++
		}
	}
}

// sorted returns the most asked first.
func (h *heats) sorted() []*heat {
	all := make([]*heat, 0, len(h.of))
	for _, of := range h.of {
		all = append(all, of)
	}
	slices.SortFunc(all, func(a, b *heat) int {
		return cmp.Or(cmp.Compare(b.gets+b.writes, a.gets+a.writes), cmp.Compare(a.key, b.key))
	})
	return all
}

// await returns when it is so late, or with an error if ctx ends first.
func (h *heats) await(ctx context.Context, until time.Time, progress func(Step)) error {
	for {
		left := time.Until(until)
		if left <= 0 {
			return nil
		}
		if !kv.Sleep(ctx, min(left, time.Second)) {
			return kv.TooLate(ctx)
		}
		if progress != nil {
			h.mu.Lock()
			s := Step{Verb: "hot", What: "trips", Done: h.trips}
			h.mu.Unlock()
			progress(s)
		}
	}
}

// hottest returns what was counted, in words of the models.
func (in *Inspector) hottest(h *heats, o *HotOptions) Hot {
	h.mu.Lock()
	defer h.mu.Unlock()
	hot := Hot{Trips: h.trips, Gets: h.all.gets, Writes: h.all.writes}
	all := h.sorted()
	for _, of := range all[:min(cmp.Or(o.Top, hotTop), len(all))] {
		key := strings.TrimPrefix(of.key, h.prefix)
		owner := in.owner(key)
		k := HotKey{Key: key, Owner: partName(owner.name, owner.part), Known: owner.known, Gets: of.gets, Writes: of.writes}
		if !o.Open && (!owner.known || owner.window != nil && isHidden(owner.model, owner.window)) {
			k.Key = Masked
		}
		hot.Keys = append(hot.Keys, k)
	}
	return hot
}
