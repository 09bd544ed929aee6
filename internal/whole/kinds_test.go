package whole_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var ctx = context.Background()

type kind struct {
	name   string
	powers func(kv.Store) kv.Powers // of a store of this kind that is kept in another one
	atomic bool
}

var kinds = []kind{
	{"bolt", asFile, true},
	{"redis", func(s kv.Store) kv.Powers { return kv.Powers{Unless: true, Ordered: true, Keys: kv.PowersOf(s).Keys} }, false},
	{"memcached", func(s kv.Store) kv.Powers { return kv.Powers{Keys: kv.PowersOf(s).Keys} }, false},
}

// lossWorlds are harmed. Processes of the first two cannot list the keys.
var lossWorlds = []kind{
	{"server", func(kv.Store) kv.Powers { return kv.Powers{Unless: true, Ordered: true} }, false},
	{"plain", func(kv.Store) kv.Powers { return kv.Powers{} }, false},
	{"alone", asFile, true},
}

func asFile(s kv.Store) kv.Powers {
	p := kv.PowersOf(s)
	p.Alone = true
	return p
}

// still outlives its users.
type still struct {
	kv.Store
	powers kv.Powers
}

func (s still) Powers() kv.Powers { return s.powers }
func (s still) Close() error      { return nil }

func (k kind) opened(s kv.Store) kv.Store { return still{s, k.powers(s)} }

func (k kind) open(t *testing.T, s kv.Store) *whole.Library {
	t.Helper()
	return libraryIn(t, k.opened(s))
}

func libraryIn(t *testing.T, s kv.Store) *whole.Library {
	t.Helper()
	l, err := whole.Open(s)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = l.DB.Close(ctx)
	})
	return l
}

func calls(l *whole.Library, d *whole.Diary, writer, n int, seed, stream uint64) {
	w := whole.NewWriter(l, writer, rand.New(rand.NewPCG(seed, stream)), d)
	for range n {
		w.Step(ctx)
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

func open(t *testing.T, path string, at time.Time) kv.Store {
	t.Helper()
	time.Sleep(time.Until(at))
	s, err := boltkv.Open(path, boltkv.Options{Durability: boltkv.Unsynced})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// tap calls before ahead of each trip, which an error refuses, and after behind it. Either may be
// nil.
type tap struct {
	kv.Store
	before func(ops []kv.Op) error
	after  func(ops []kv.Op)
}

func (t tap) Powers() kv.Powers { return kv.PowersOf(t.Store) }

func (t tap) Do(ctx context.Context, ops []kv.Op) error {
	if t.before != nil {
		if err := t.before(ops); err != nil {
			return kv.Fail(ops, err)
		}
	}
	err := t.Store.Do(ctx, ops)
	if t.after != nil {
		t.after(ops)
	}
	return err
}

func distant(s kv.Store, trip time.Duration) kv.Store {
	return tap{Store: s, before: func([]kv.Op) error { time.Sleep(trip); return nil }}
}

// dying carries out nothing after left more ops, or after the last one.
type dying struct {
	kv.Store
	left atomic.Int64
	last func(kv.Op) bool // may be nil
}

func alive(s kv.Store) *dying {
	d := &dying{Store: s}
	d.left.Store(math.MaxInt64)
	return d
}

func (d *dying) die() { d.left.Store(0) }

func (d *dying) Powers() kv.Powers { return kv.PowersOf(d.Store) }

func (d *dying) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if d.left.Add(-1) < 0 {
			return kv.Fail(ops[i:], kv.ErrUnavailable)
		}
		if d.last != nil && d.last(ops[i]) {
			d.die()
		}
		_ = d.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}
