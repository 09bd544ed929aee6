package proof

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Linearizable makes several clients carry out random ops on a few keys of s, deleted before, at
// the same time. It fails unless some sequence of all ops explains every answer. An unclear op may
// take effect at any later time or never. No key has both Appends and Increments, because engines
// differ there.
func Linearizable(t testing.TB, s kv.Store, clients, ops int, seed uint64) {
	t.Helper()
	if err := s.Do(context.Background(), []kv.Op{kv.OpDelete(keyOf(0)), kv.OpDelete(keyOf(1)), kv.OpDelete(keyOf(2))}); err != nil {
		t.Fatalf("remove the keys of the last run: %v", err)
	}
	var mu sync.Mutex
	var history []porcupine.Operation
	var wg sync.WaitGroup
	began := time.Now()
	for id := range clients {
		c := &historian{store: s, id: id, began: began, rng: rand.New(rand.NewPCG(seed, uint64(id)))}
		wg.Go(func() {
			c.work(ops)
			mu.Lock()
			defer mu.Unlock()
			history = append(history, c.history...)
		})
	}
	wg.Wait()
	if len(history) < clients*ops/2 {
		t.Errorf("seed %d: the store answered only %d of %d ops", seed, len(history), clients*ops)
	}
	for _, part := range byKey(history) {
		switch porcupine.CheckOperationsTimeout(itemModel, part, time.Minute) {
		case porcupine.Illegal:
			t.Errorf("seed %d: no order explains the answers about key %q:\n%s", seed, part[0].Input.(kv.Op).Key, tellHistory(part))
		case porcupine.Unknown:
			t.Errorf("seed %d: a minute was not enough to explain %d answers about one key; ask for fewer ops", seed, len(part))
		}
	}
}

type historian struct {
	store    kv.Store
	id       int
	began    time.Time
	rng      *rand.Rand
	versions [3]kv.Version
	history  []porcupine.Operation
}

func keyOf(i int) string { return fmt.Sprint("lin", i) }

func (c *historian) work(ops int) {
	for range ops {
		at := c.rng.IntN(len(c.versions))
		op := c.op(keyOf(at), c.versions[at], at == 0)
		call := time.Since(c.began)
		r, _ := kv.One(context.Background(), c.store, op)
		returned := int64(time.Since(c.began))
		if r.Err == nil && op.Kind == kv.Get {
			c.versions[at] = r.Version
		}
		if errors.Is(r.Err, kv.ErrUnavailable) {
			continue
		}
		if kv.Failed(r.Err) {
			returned = math.MaxInt64
		}
		c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: op, Call: int64(call), Output: r, Return: returned})
	}
}

// counted: the key has Increments, not Appends.
func (c *historian) op(key string, version kv.Version, counted bool) kv.Op {
	value := strconv.AppendInt(nil, c.rng.Int64N(100), 10)
	kind := kv.Get + kv.Kind(c.rng.IntN(int(kv.Increment)))
	if version == 0 && (kind == kv.CompareAndSwap || kind == kv.CompareAndDelete) {
		kind = kv.Get
	}
	switch {
	case kind == kv.Append && counted:
		kind = kv.Increment
	case kind == kv.Increment && !counted:
		kind = kv.Append
	}
	switch kind {
	case kv.Set:
		return kv.OpSet(key, value)
	case kv.Add:
		return kv.OpAdd(key, value)
	case kv.CompareAndSwap:
		return kv.OpSwap(key, version, value)
	case kv.Delete:
		return kv.OpDelete(key)
	case kv.CompareAndDelete:
		return kv.OpDrop(key, version)
	case kv.Append:
		return kv.OpAppend(key, value[:1])
	case kv.Increment:
		return kv.OpIncrement(key, c.rng.Int64N(7)-3)
	}
	return kv.OpGet(key)
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	parts := make(map[string][]porcupine.Operation)
	for _, o := range history {
		key := o.Input.(kv.Op).Key
		parts[key] = append(parts[key], o)
	}
	var list [][]porcupine.Operation
	for _, part := range parts {
		list = append(list, part)
	}
	return list
}

// The version of an item is unknown until a Get answers it, and no client can know it before.
var itemModel = porcupine.Model{
	Init: func() any { return item{} },
	Step: func(state, input, output any) (bool, any) {
		op, r := input.(kv.Op), output.(kv.Result)
		want, next := explain(state.(item), op, r)
		if errors.Is(r.Err, kv.ErrUnclear) {
			return true, next
		}
		return optest.EndsIn(r.Err, want.Err) && string(r.Value) == string(want.Value) && r.Number == want.Number && r.Version == want.Version, next
	},
}

// If s has no version yet, a Get takes it from got.
func explain(s item, op kv.Op, got kv.Result) (kv.Result, item) {
	if op.Kind == kv.Get && s.present && s.version == 0 {
		s.version = got.Version
	}
	want, next := s.after(op)
	if next == nil {
		return want, s
	}
	return want, *next
}

func tellHistory(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var lines []string
	for _, o := range history[max(0, len(history)-60):] {
		op, r := o.Input.(kv.Op), o.Output.(kv.Result)
		op.Result = r
		lines = append(lines, fmt.Sprintf("%12v %12v  client %2d  %s -> %s", time.Duration(o.Call), time.Duration(o.Return), o.ClientId, optest.Show(op), optest.ShowAnswer(op)))
	}
	return strings.Join(lines, "\n")
}
