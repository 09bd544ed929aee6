package whole_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var ctx = context.Background()

// kind is a kind of store that is kept.
type kind struct {
	name   string
	powers kv.Powers // Atomic is not used: a store has its own, or none
	atomic bool
}

var kinds = []kind{
	{name: "bolt", atomic: true},
	{name: "redis", powers: kv.Powers{Unless: true, Ordered: true}},
	{name: "memcached"},
}

// still is a store that outlives its users and has no other powers than those.
type still struct {
	kv.Store
	powers kv.Powers
}

func (s still) Powers() kv.Powers { return s.powers }
func (s still) Close() error      { return nil }

// opened returns s as a process opens it on a store of kind k.
func (k kind) opened(s kv.Store) kv.Store {
	if k.atomic {
		return still{s, kv.PowersOf(s)}
	}
	powers := k.powers
	powers.Keys = kv.PowersOf(s).Keys
	return still{s, powers}
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
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// dying is a store that a process loses when it dies: after left more ops nothing
// is carried out.
type dying struct {
	kv.Store
	left atomic.Int64
}

func (d *dying) Powers() kv.Powers { return kv.PowersOf(d.Store) }

func (d *dying) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if d.left.Add(-1) < 0 {
			return kv.Fail(ops[i:], kv.ErrUnavailable)
		}
		_ = d.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}
