package whole_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math"
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

// kind is a kind of store.
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

// lossWorlds are the kinds of stores that are harmed. No process can list the keys of the first two.
var lossWorlds = []kind{
	{"server", func(kv.Store) kv.Powers { return kv.Powers{Unless: true, Ordered: true} }, false},
	{"plain", func(kv.Store) kv.Powers { return kv.Powers{} }, false},
	{"alone", asFile, true},
}

// asFile returns the powers of s in a process that holds it alone.
func asFile(s kv.Store) kv.Powers {
	p := kv.PowersOf(s)
	p.Alone = true
	return p
}

// still is a store that outlives its users and has no other powers than those.
type still struct {
	kv.Store
	powers kv.Powers
}

func (s still) Powers() kv.Powers { return s.powers }
func (s still) Close() error      { return nil }

// opened returns s as a process opens it on a store of kind k.
func (k kind) opened(s kv.Store) kv.Store { return still{s, k.powers(s)} }

// open opens a library in s that is closed when the test ends.
func (k kind) open(t *testing.T, s kv.Store) *whole.Library {
	t.Helper()
	return libraryIn(t, k.opened(s))
}

// libraryIn opens a library in s that is closed when the test ends, even if it cannot finish
// its work.
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

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// read returns what is in a file, unpacked.
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

// open opens the file at path at a time of the simulation.
func open(t *testing.T, path string, at time.Time) kv.Store {
	t.Helper()
	time.Sleep(time.Until(at))
	s, err := boltkv.Open(path, boltkv.Options{Durability: boltkv.Unsynced})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// dying is a store that a process loses when it dies: after left more ops, or the last one,
// nothing is carried out.
type dying struct {
	kv.Store
	left atomic.Int64
	last func(kv.Op) bool // may be nil
}

// alive returns a store that a process does not lose until it dies.
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
