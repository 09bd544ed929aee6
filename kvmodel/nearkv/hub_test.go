package nearkv_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// A hub is a store that tells its clients what has changed.
type hub struct {
	*memkv.Store

	mu    sync.Mutex
	tells []func(keys []string)
	late  bool // changes are told by tell, not at once
	keys  []string
	deaf  bool // it is unknown whether all changes were told

	announces bool // keys that anyone writes, unless mute
	mute      bool
	hears     []func(keys []string)
}

func newHub() *hub { return &hub{Store: memkv.New(memkv.Options{})} }

func (h *hub) Do(ctx context.Context, ops []kv.Op) error {
	err := h.Store.Do(ctx, ops)
	for i := range ops {
		if ops[i].Kind.Writes() {
			h.changed(ops[i].Key)
			if !h.mute {
				h.announce([]string{ops[i].Key})
			}
		}
	}
	return err
}

func (h *hub) Powers() kv.Powers {
	p := h.Store.Powers()
	atomic := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		err := atomic(ctx, f)
		if !h.late {
			h.told(nil)
		}
		return err
	}
	p.Changes = h
	return p
}

func (h *hub) Tell(f func(keys []string)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tells = append(h.tells, f)
}

func (h *hub) Current() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.deaf
}

func (h *hub) Announce(f func(keys []string)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hears = append(h.hears, f)
	return h.announces
}

func (h *hub) Announcing() bool { return h.announces }

func (h *hub) announce(keys []string) {
	h.mu.Lock()
	hears := slices.Clone(h.hears)
	h.mu.Unlock()
	for _, f := range hears {
		f(keys)
	}
}

func (h *hub) changed(key string) {
	h.mu.Lock()
	h.keys = append(h.keys, key)
	late := h.late
	h.mu.Unlock()
	if !late {
		h.tell()
	}
}

func (h *hub) tell() {
	h.mu.Lock()
	keys := h.keys
	h.keys = nil
	h.mu.Unlock()
	if len(keys) > 0 {
		h.told(keys)
	}
}

func (h *hub) told(keys []string) {
	h.mu.Lock()
	tells := slices.Clone(h.tells)
	h.mu.Unlock()
	for _, f := range tells {
		f(keys)
	}
}

// A client is a process with a cache. All its gets may be answered from memory.
type client struct {
	kv.Store
	*kv.Meter
	ctx context.Context
}

func newClient(t *testing.T, s kv.Store, opts nearkv.Options) client {
	t.Helper()
	if opts.Bytes == 0 {
		opts.Bytes = 16 << 20
	}
	near, err := nearkv.New(s, opts)
	proof.Must(t, err)
	ctx, meter := kv.Metered(t.Context())
	return client{kv.Near(kv.Count(near)), meter, ctx}
}

// wantGet checks the answer, "" for an absence, and the number of trips.
func (c client) wantGet(t *testing.T, key, want string, trips int) {
	t.Helper()
	before := c.Cost().Trips
	r, err := kv.One(c.ctx, c, kv.OpGet(key))
	if err != nil && (want != "" || !kv.Raced(err)) || string(r.Value) != want {
		t.Errorf("%s is %q, %v; want %q", key, r.Value, err, want)
	}
	proof.Equal(t, c.Cost().Trips-before, trips, "a get of %s made", key)
}

func (c client) set(t *testing.T, key, value string) {
	t.Helper()
	do(t, c, kv.OpSet(key, []byte(value)))
}

func (c client) knows(t *testing.T, key, value string) {
	t.Helper()
	c.set(t, key, value)
	c.wantGet(t, key, value, 1)
}

func do(t *testing.T, s kv.Store, op kv.Op) kv.Result {
	t.Helper()
	r, err := kv.One(context.Background(), s, op)
	proof.Must(t, err)
	return r
}
