package kvtest

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

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Linearizable lets clients goroutines carry out ops random ops each on a few
// keys of s at once, and fails unless there is an order of all of them, one
// after another, that explains every answer. The keys must be absent at first.
// An op that ended unclear may have been done at any later time or never. No key
// is both appended to and counted with, which engines may take differently.
func Linearizable(t testing.TB, s kv.Store, clients, ops int, seed uint64) {
	t.Helper()
	if err := s.Do(context.Background(), []kv.Op{kv.OpDelete(keyOf(0)), kv.OpDelete(keyOf(1)), kv.OpDelete(keyOf(2))}); err != nil {
		t.Fatalf("remove the keys of the last time: %v", err)
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

// historian is a client that notes when it asked for what, and the answers.
type historian struct {
	store    kv.Store
	id       int
	began    time.Time
	rng      *rand.Rand
	versions [3]kv.Version // the last it read of each key
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

// op returns a random op on key, which is counted with or appended to.
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

// byKey parts a history into those of each key: ops on different keys have
// nothing to do with each other.
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

// itemState is one key of a store as its answers let it be known. The version
// of an item is not known until a Get has told it; nobody can have it before.
type itemState struct {
	present bool
	value   string
	version kv.Version
}

var itemModel = porcupine.Model{
	Init: func() any { return itemState{} },
	Step: func(state, input, output any) (bool, any) {
		op, r := input.(kv.Op), output.(kv.Result)
		want, next := explain(state.(itemState), op, r)
		if errors.Is(r.Err, kv.ErrUnclear) {
			return true, next
		}
		return endsIn(r.Err, want.Err) && string(r.Value) == string(want.Value) && r.Number == want.Number && r.Version == want.Version, next
	},
}

// explain returns what op on an item in state s must answer, and the state
// after it. The version a Get answers is taken from got where it is new.
func explain(s itemState, op kv.Op, got kv.Result) (kv.Result, itemState) {
	stored := itemState{present: true, value: string(op.Value)}
	switch op.Kind {
	case kv.Get:
		return explainGet(s, got)
	case kv.Set:
		return kv.Result{}, stored
	case kv.Add:
		if s.present {
			return kv.Result{Err: kv.ErrExists}, s
		}
		return kv.Result{}, stored
	case kv.Append:
		if !s.present {
			return kv.Result{Err: kv.ErrNotStored}, s
		}
		stored.value = s.value + stored.value
		return kv.Result{}, stored
	}
	if !s.present {
		return kv.Result{Err: kv.ErrNotFound}, s
	}
	switch {
	case op.Kind == kv.Increment:
		return explainIncrement(s, op)
	case op.Kind == kv.Delete:
		return kv.Result{}, itemState{}
	case op.Version != s.version:
		return kv.Result{Err: kv.ErrConflict}, s
	case op.Kind == kv.CompareAndSwap:
		return kv.Result{}, stored
	}
	return kv.Result{}, itemState{}
}

func explainGet(s itemState, got kv.Result) (kv.Result, itemState) {
	if !s.present {
		return kv.Result{Err: kv.ErrNotFound}, s
	}
	if s.version == 0 {
		s.version = got.Version
	}
	return kv.Result{Value: []byte(s.value), Version: s.version}, s
}

func explainIncrement(s itemState, op kv.Op) (kv.Result, itemState) {
	n, err := kv.ParseNumber([]byte(s.value))
	if err != nil {
		return kv.Result{Err: kv.ErrNotNumber}, s
	}
	// The deltas here are small: past the largest number means by a little.
	if n = max(n+op.Delta, 0); n > kv.MaxNumber {
		return kv.Result{Err: kv.ErrNotNumber}, s
	}
	return kv.Result{Number: n}, itemState{present: true, value: strconv.FormatInt(n, 10)}
}

// tellHistory returns the last ops of a history in the order they were asked.
func tellHistory(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var lines []string
	for _, o := range history[max(0, len(history)-60):] {
		op, r := o.Input.(kv.Op), o.Output.(kv.Result)
		e := event{op: op}
		e.op.Result = r
		lines = append(lines, fmt.Sprintf("%12v %12v  client %2d  %s -> %s", time.Duration(o.Call), time.Duration(o.Return), o.ClientId, show(op), e.outcome()))
	}
	return strings.Join(lines, "\n")
}
