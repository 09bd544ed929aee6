package whole_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
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
	proof.Must(t, errors.Join(errs...))
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

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	proof.Done(t)(w.Write(data))
	must(t, errors.Join(w.Close(), os.WriteFile(path, packed.Bytes(), 0o644)))
	t.Logf("%s: %d bytes of %d", path, packed.Len(), len(data))
}

// TTL is the rest at the time of the dump; 0: none.
type item struct {
	Key   string
	Value []byte
	TTL   time.Duration
}

func dump(t *testing.T, path string, now time.Time) []byte {
	t.Helper()
	items := itemsIn(t, path, now)
	s := open(t, path, now)
	var lines bytes.Buffer
	for _, it := range items {
		r, err := kv.One(ctx, s, kv.OpGet(it.Key))
		it.Value = r.Value
		must(t, errors.Join(err, json.NewEncoder(&lines).Encode(it)))
	}
	must(t, s.Close())
	return lines.Bytes()
}

// itemsIn returns the items of a closed store without their values.
func itemsIn(t *testing.T, path string, now time.Time) (all []item) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	must(t, err)
	ends := make(map[string]time.Time)
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("expiry")).ForEach(func(entry, _ []byte) error {
			ends[string(entry[8:])] = time.Unix(0, int64(binary.BigEndian.Uint64(entry)))
			return nil
		})
	})
	must(t, errors.Join(err, db.Close()))
	s := open(t, path, now)
	err = kv.PowersOf(s).Keys(ctx, "", func(keys []string) error {
		for _, key := range keys {
			it := item{Key: key}
			if end, ok := ends[key]; ok {
				if it.TTL = end.Sub(now); it.TTL <= 0 {
					continue
				}
			}
			all = append(all, it)
		}
		return nil
	})
	must(t, errors.Join(err, s.Close()))
	return all
}

func load(t *testing.T, s kv.Store, lines []byte) {
	t.Helper()
	for in := json.NewDecoder(bytes.NewReader(lines)); ; {
		var it item
		if err := in.Decode(&it); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		proof.Done(t)(kv.One(ctx, s, kv.OpSet(it.Key, it.Value).For(it.TTL)))
	}
}

type wire struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, addr string) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return &wire{t, conn, bufio.NewReader(conn)}
}

func (w *wire) send(format string, args ...any) {
	w.t.Helper()
	_, err := fmt.Fprintf(w, format, args...)
	must(w.t, err)
}

func (w *wire) line() string {
	w.t.Helper()
	line, err := w.in.ReadString('\n')
	must(w.t, err)
	return strings.TrimRight(line, "\r\n")
}
