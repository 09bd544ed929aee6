package boltkv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// listed returns the keys of s that begin with begin.
func listed(t *testing.T, s *boltkv.Store, begin string) (keys map[string]bool, err error) {
	t.Helper()
	keys = make(map[string]bool)
	err = s.Powers().Keys(t.Context(), begin, func(some []string) error {
		for _, key := range some {
			if keys[key] {
				t.Errorf("%q is listed twice", key)
			}
			keys[key] = true
		}
		return nil
	})
	return keys, err
}

func TestStore_Keys_DamagedPageIsCorruptAndOtherKeysAreListed(t *testing.T) {
	path := storeFile(t)
	s := openAt(t, path, boltkv.Options{})
	one(t, s, kv.OpSet("a", nil))
	check(s.Close())
	clearPages(path, func(page []byte) bool {
		return bytes.Contains(page, []byte(keyAt(500))) && !bytes.Contains(page, []byte(keyAt(0)))
	})
	s = openAt(t, path, boltkv.Options{})
	if keys, err := listed(t, s, "a"); err != nil || !keys["a"] {
		t.Errorf("the keys of an intact page are %v, %v", keys, err)
	}
	if _, err := listed(t, s, "bench:"); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("listing damaged pages returned %v", err)
	}
}

func TestStore_Keys_WhatWasSetAsideIsListed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, boltkv.Options{})
	fillWith(t, s, 3)
	check(s.Close())
	damageItems(t, path)
	s, _ = quick(t, path, newClock())
	for _, op := range []kv.Op{kv.OpSet(keyAt(0), nil), kv.OpSet(keyAt(9), nil), kv.OpSet("other", nil)} {
		one(t, s, op)
	}
	one(t, s, kv.OpDelete(keyAt(9)))
	rests(t, s)
	if s.Stats().Aside == 0 {
		t.Fatal("nothing was set aside")
	}
	// The page stays damaged, and a listing says so: it cannot know what else is there.
	if _, err := listed(t, s, ""); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("listing returned %v", err)
	}
	one(t, s, kv.OpGet(keyAt(0)))
	wantGone(t, s, keyAt(9))
}

func TestStore_Sweep_ExpiredItemsOfADamagedPageHoldNothingUp(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "store.db"), newClock()
	s := openAt(t, path, boltkv.Options{Now: clock.Now})
	for i := range 400 {
		one(t, s, kv.OpSet(keyAt(i), bytes.Repeat([]byte("VALUE"), 100)).For(time.Duration(i+1)*time.Second))
	}
	check(s.Close())
	cleared := clearPages(path, func(page []byte) bool {
		return bytes.Contains(page, []byte("VALUE")) && rand.IntN(3) == 0
	})
	clock.Advance(time.Hour)
	s, _ = quick(t, path, clock)
	one(t, s, kv.OpSet("other", []byte("new")))
	rests(t, s)
	until(t, func() bool { return s.Stats().Swept > 0 })
	check(s.Close())
	if got := string(one(t, openAt(t, path, boltkv.Options{}), kv.OpGet("other")).Value); got != "new" || cleared == 0 {
		t.Errorf("the key holds %q after %d pages were cleared", got, cleared)
	}
}

// flipped is a store with some bits of its files flipped.
type flipped struct {
	path    string
	random  *rand.Rand
	refused int // stores that could not be opened
	corrupt int // items that were said to be damaged
	absent  int // items that were said to be absent, and were not
	older   int // that were what the key had held before
	silent  int // stores with such items in which the scrub found nothing
	wrong   []string
}

// read opens the store and compares what it says with what each key should hold.
func (f *flipped) read(t *testing.T, want, was map[string]string) {
	s, err := boltkv.OpenQuick(f.path, boltkv.Options{}, new(atomic.Int64))
	if err != nil {
		if !errors.Is(err, boltkv.ErrDamaged) {
			f.wrong = append(f.wrong, fmt.Sprint("Open: ", err))
		}
		f.refused++
		return
	}
	defer func() { _ = s.Close() }()
	before := f.absent + f.older
	defer func() {
		if f.absent+f.older == before {
			return
		}
		until(t, func() bool { return !s.Stats().Scrub.Ended.IsZero() })
		if s.Stats().Scrub.OK() {
			f.silent++
		}
	}()
	for key, value := range want {
		r, err := kv.One(context.Background(), s, kv.OpGet(key))
		switch {
		case errors.Is(err, codec.ErrCorrupt):
			f.corrupt++
		case errors.Is(err, kv.ErrNotFound) && value != "":
			f.absent++
		case err == nil && string(r.Value) != value && string(r.Value) == was[key]:
			f.older++
		case err == nil && string(r.Value) != value: // A deleted one should be "".
			f.wrong = append(f.wrong, fmt.Sprintf("%s holds %q", key, r.Value))
		case err != nil && !errors.Is(err, kv.ErrNotFound):
			f.wrong = append(f.wrong, fmt.Sprintf("%s: %v", key, err))
		}
	}
}

func TestStore_Do_FlippedBitIsNeverServedAndWhatItHidIsCounted(t *testing.T) {
	flips := proof.Size(15, 1_000)
	dir := t.TempDir()
	from := filepath.Join(dir, "open.db")
	s, _ := quick(t, from, newClock())
	want, was := make(map[string]string), make(map[string]string)
	for i := range 2000 {
		key := keyAt(i % 1500)
		was[key] = want[key]
		want[key] = fmt.Sprint("value ", i, string(make([]byte, rand.IntN(100))))
		one(t, s, kv.OpSet(key, []byte(want[key])))
		if i%7 == 0 {
			gone := keyAt(i / 2)
			if want[gone] != "" {
				one(t, s, kv.OpDelete(gone))
				was[gone], want[gone] = want[gone], ""
			}
		}
	}
	one(t, s, kv.OpSet("last", nil)) // If it is damaged, it looks torn.
	copyStore(t, from, filepath.Join(dir, "all.db"))
	all := files(filepath.Join(dir, "all.db"))
	seed := uint64(time.Now().UnixNano())
	f := &flipped{path: filepath.Join(dir, "store.db"), random: rand.New(rand.NewPCG(seed, 0))}
	for range flips {
		for end, data := range all {
			check(os.WriteFile(f.path+end, []byte(data), 0o600))
		}
		end := []string{"", "", "", ".log0", ".log1"}[f.random.IntN(5)]
		change(f.path+end, func(data []byte) []byte {
			data[f.random.IntN(len(data))] ^= 1 << f.random.IntN(8)
			return data
		})
		f.read(t, want, was)
	}
	t.Logf("seed %d: of %d flips %d were refused; %d reads corrupt; %d absent and %d older items that no read noticed, %d stores in which the scrub did not",
		seed, flips, f.refused, f.corrupt, f.absent, f.older, f.silent)
	if len(f.wrong)+f.silent > 0 {
		t.Errorf("seed %d: %d silent, %d wrong: %.500q", seed, f.silent, len(f.wrong), f.wrong)
	}
}
