package boltkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/powercut"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// wreck is a store before it is damaged, and what its keys hold; "" stands for no item.
type wreck struct {
	dir   string
	files map[string]string
	want  map[string]string
}

// newWreck makes a store with some history. If closed is false, it is what a crash of its
// process leaves.
func newWreck(t *testing.T, closed bool) *wreck {
	t.Helper()
	w := &wreck{dir: t.TempDir(), want: make(map[string]string)}
	path := filepath.Join(w.dir, "before.db")
	s, _ := quick(t, path, newClock())
	var ops []kv.Op
	for i := range 3000 {
		key := benchKey(i % 2000)
		size := rand.IntN(100)
		if i%100 == 0 {
			size = 20_000 // It goes on over several pages.
		}
		w.want[key] = fmt.Sprint("value ", i, strings.Repeat("x", size))
		ops = append(ops, kv.OpSet(key, []byte(w.want[key])))
		if gone := benchKey(i / 2); i%7 == 0 && w.want[gone] != "" {
			ops = append(ops, kv.OpDelete(gone))
			w.want[gone] = ""
		}
		if i%20 == 19 || i >= 2500 { // The last commits, which are in a log, are of an op or two.
			check(s.Do(t.Context(), ops))
			ops = nil
		}
	}
	if closed {
		check(s.Close())
	}
	copyStore(t, path, filepath.Join(w.dir, "copy.db"))
	w.files = files(filepath.Join(w.dir, "copy.db"))
	return w
}

// lay puts the files where they can be damaged.
func (w *wreck) lay() (path string) {
	path = filepath.Join(w.dir, "wreck.db")
	for end, data := range w.files {
		check(os.WriteFile(path+end, []byte(data), 0o600))
	}
	return path
}

// salvage salvages the store and returns what was found, the keys that hold nothing and
// should, and those that hold another value than they should. Where the log is intact there
// are none of these.
func (w *wreck) salvage(t *testing.T) (found boltkv.Salvaged, lost, older []string) {
	t.Helper()
	from, to := filepath.Join(w.dir, "wreck.db"), filepath.Join(w.dir, "salvaged.db")
	before := files(from)
	found, err := boltkv.Salvage(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { check(os.Remove(to)) }()
	for end, data := range files(from) {
		if data != before[end] {
			t.Errorf("Salvage has changed the file%s", end)
		}
	}
	s, err := boltkv.Open(to, boltkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { check(s.Close()) }()
	for key, want := range w.want {
		r, err := kv.One(t.Context(), s, kv.OpGet(key))
		switch {
		case err == nil && string(r.Value) == want && want != "":
		case errors.Is(err, kv.ErrNotFound) && want == "":
		case errors.Is(err, kv.ErrNotFound):
			lost = append(lost, key)
		case err == nil:
			older = append(older, key)
		default:
			t.Errorf("%s: %v", key, err)
		}
	}
	return found, lost, older
}

func TestSalvage_IntactStoreIsTheSame(t *testing.T) {
	for _, closed := range []bool{true, false} {
		w := newWreck(t, closed)
		w.lay()
		if found, lost, older := w.salvage(t); !found.OK() || len(lost)+len(older) > 0 {
			t.Errorf("closed %v: it found %+v, lost %d, and has %d of another time", closed, found, len(lost), len(older))
		}
	}
}

func TestSalvage_AFlippedBitCostsAnItemAtMost(t *testing.T) {
	flips := proof.Size(12, 3_000)
	w := newWreck(t, true)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	costs, refused := 0, 0
	for range flips {
		path := w.lay()
		bit := random.IntN(8 * len(w.files[""]))
		change(path, func(data []byte) []byte { data[bit/8] ^= 1 << (bit % 8); return data })
		found, lost, older := w.salvage(t)
		costs += len(lost)
		if len(lost) > 1 || len(older) > 0 || len(lost) > len(found.Damaged)+int(max(0, found.Missing)) {
			t.Errorf("seed %d: bit %d at byte %d of page %d: it lost %d items, has %d of another time, and found %+v", seed, bit%8, bit/8%4096, bit/8/4096, len(lost), len(older), found)
			refused++
		}
		if t.Failed() && refused > 3 {
			break
		}
	}
	t.Logf("seed %d: %d flips cost %d items", seed, flips, costs)
}

func TestSalvage_ALostPageCostsWhatItHolds(t *testing.T) {
	pages := proof.Size(10, 2_000)
	w := newWreck(t, true)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	for range pages {
		path := w.lay()
		page := 2 + random.IntN(len(w.files[""])/4096-2)
		held := w.files[""][page*4096:][:4096]
		change(path, func(data []byte) []byte {
			switch random.IntN(3) {
			case 0:
				clear(data[page*4096:][:4096])
			case 1:
				copy(data[page*4096:][:4096], data[random.IntN(len(data)/4096)*4096:])
			default:
				for i := range 4096 {
					data[page*4096+i] = byte(random.Uint32())
				}
			}
			return data
		})
		found, lost, older := w.salvage(t)
		if len(older) > 0 {
			t.Errorf("seed %d: page %d: %q hold what they held before; found %+v", seed, page, older, found)
		}
		for _, key := range lost {
			if !strings.Contains(held, key) && !strings.Contains(held, "xxxx") {
				t.Errorf("seed %d: page %d did not hold %s, and yet it is lost; found %+v", seed, page, key, found)
				break
			}
		}
		if len(lost) > 0 && found.OK() {
			t.Errorf("seed %d: page %d cost %d items without a word", seed, page, len(lost))
		}
	}
}

func TestSalvage_DamagedLogCostsItsCommitAtMost(t *testing.T) {
	w := newWreck(t, false)
	path := w.lay()
	for _, log := range []string{".log0", ".log1"} {
		size := len(w.files[log])
		for range proof.Size(5, 100) {
			w.lay()
			at := rand.IntN(size)
			change(path+log, func(data []byte) []byte { data[at] ^= 1; return data })
			if found, lost, older := w.salvage(t); len(lost)+len(older) > 2 && at >= 64 || found.OK() && len(lost)+len(older) > 0 {
				t.Errorf("byte %d of %s: it lost %d items, has %d older ones, and found %+v", at, log, len(lost), len(older), found)
			}
		}
	}
}

func TestSalvage_MissingLogIsNamed(t *testing.T) {
	path := abandoned(t, 20)
	check(os.Remove(logOf(path)))
	found := must(boltkv.Salvage(t.Context(), path, path+".new"))
	if len(found.Logs) != 1 || !strings.Contains(found.Logs[0], "no log of it was found") || found.OK() {
		t.Errorf("it found %+v", found)
	}
	path = abandoned(t, 20)
	check(os.WriteFile(logOf(path), must(os.ReadFile(logOf(abandoned(t, 5)))), 0o600))
	found = must(boltkv.Salvage(t.Context(), path, path+".new"))
	if len(found.Logs) == 0 || !strings.Contains(found.Logs[0], "the log of another store") {
		t.Errorf("it found %+v", found)
	}
}

func TestSalvage_WhatWasSetAsideCounts(t *testing.T) {
	path := storeFile(t)
	db := must(bolt.Open(path, 0o600, nil))
	check(db.Update(func(tx *bolt.Tx) error {
		aside := must(tx.CreateBucket([]byte("aside")))
		return aside.Put([]byte(benchKey(1)), []byte{0})
	}))
	check(db.Close())
	must(boltkv.Salvage(t.Context(), path, path+".new"))
	s := openAt(t, path+".new", boltkv.Options{})
	wantGone(t, s, benchKey(1))
	one(t, s, kv.OpGet(benchKey(2)))
}

func TestSalvage_WhatCannotBeSalvagedIsNamed(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	check(os.WriteFile(text, bytes.Repeat([]byte("text\n"), 5000), 0o600))
	empty := filepath.Join(dir, "empty.db")
	check(os.WriteFile(empty, nil, 0o600))
	other := filepath.Join(dir, "other.db")
	db := must(bolt.Open(other, 0o600, nil))
	check(db.Update(func(tx *bolt.Tx) error {
		return must(tx.CreateBucket([]byte("theirs"))).Put([]byte("key"), []byte("value"))
	}))
	check(db.Close())
	used := filepath.Join(dir, "used.db")
	openAt(t, used, boltkv.Options{})
	for path, want := range map[string]error{
		text: boltkv.ErrDamaged, empty: boltkv.ErrDamaged, other: boltkv.ErrDamaged,
		filepath.Join(dir, "none.db"): fs.ErrNotExist, used: boltkv.ErrInUse,
	} {
		_, err := boltkv.Salvage(t.Context(), path, filepath.Join(dir, "new.db"))
		if !errors.Is(err, want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, want %v", filepath.Base(path), err, want)
		}
	}
	good := storeFile(t)
	if _, err := boltkv.Salvage(t.Context(), good, text); !errors.Is(err, fs.ErrExist) {
		t.Errorf("salvaging over a file returned %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := boltkv.Salvage(ctx, good, filepath.Join(dir, "new.db")); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled one returned %v", err)
	}
	wantOnly(t, dir, "empty.db", "other.db", "text.db", "used.db", "used.db.log1")
}

// The salvaged file has to be read, whatever is in its pages.
func FuzzSalvage_AnyBytesAreASalvagedStoreOrAnError(f *testing.F) {
	path := filepath.Join(f.TempDir(), "store.db")
	s := must(boltkv.Open(path, boltkv.Options{}))
	for i := range 30 {
		one(f, s, kv.OpSet(benchKey(i), bytes.Repeat([]byte("x"), 300)))
	}
	check(s.Close())
	whole := must(os.ReadFile(path))
	f.Add(uint16(5), uint16(10), []byte{1, 2, 3})
	f.Add(uint16(3), uint16(8), []byte{1, 0, 200})
	f.Fuzz(func(t *testing.T, page, at uint16, bytes []byte) {
		dir := t.TempDir()
		data := slices.Clone(whole)
		copy(data[min(len(data), int(page)%(len(data)/4096)*4096+int(at)%4096):], bytes)
		check(os.WriteFile(filepath.Join(dir, "fuzz.db"), data, 0o600))
		_, err := boltkv.Salvage(t.Context(), filepath.Join(dir, "fuzz.db"), filepath.Join(dir, "new.db"))
		if err != nil && !errors.Is(err, boltkv.ErrDamaged) {
			t.Error(err)
		}
	})
}

func TestSalvage_LogThatWasJustBegunLacksNothing(t *testing.T) {
	path := abandoned(t, 5)
	// A log goes on behind the end of the one before, which stands there a moment later.
	header := commitlog.Header{Store: idOf(path), Epoch: 2, First: 7}
	file := new(powercut.File)
	must(commitlog.Create(file, header))
	check(os.WriteFile(path+".log0", file.Data, 0o600))
	found := must(boltkv.Salvage(t.Context(), path, path+".salvaged"))
	if !found.OK() || found.Items != 5 {
		t.Errorf("it found %+v", found)
	}
}

// idOf returns the id of the store at path.
func idOf(path string) (id [16]byte) {
	db := must(bolt.Open(path, 0o600, nil))
	check(db.View(func(tx *bolt.Tx) error {
		copy(id[:], tx.Bucket([]byte("ringtree")).Get([]byte("id")))
		return nil
	}))
	check(db.Close())
	return id
}
