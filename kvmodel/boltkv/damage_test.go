package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func listed(t *testing.T, s *Store, begin string) (keys map[string]bool, err error) {
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

func TestStore_Keys_DamagedPagesAreCorruptAndAllOtherKeysAreListed(t *testing.T) {
	path := storeFile(t)
	s := openAt(t, path, Options{})
	one(t, s, kv.OpSet("a", nil))
	one(t, s, kv.OpSet("z", nil))
	must(s.Close())
	damaged := make(map[string]bool)
	clearPages(path, func(page []byte) bool {
		const isLeaf = 2
		if page[8] != isLeaf || !bytes.Contains(page, []byte(keyAt(200))) && !bytes.Contains(page, []byte(keyAt(500))) {
			return false
		}
		for i := range 1000 {
			damaged[keyAt(i)] = damaged[keyAt(i)] || bytes.Contains(page, []byte(keyAt(i)))
		}
		return true
	})
	s = openAt(t, path, Options{})
	if keys, err := listed(t, s, "a"); err != nil || !keys["a"] {
		t.Errorf("the keys of an intact page are %v, %v", keys, err)
	}
	keys, err := listed(t, s, "")
	proof.Is(t, err, codec.ErrCorrupt)
	for i := range 1000 {
		if key := keyAt(i); !keys[key] && !damaged[key] {
			t.Errorf("%s is on an intact page, and is not listed", key)
		}
	}
	if !keys["z"] || !damaged[keyAt(200)] {
		t.Errorf("z is listed: %t; the page of %s is damaged: %t", keys["z"], keyAt(200), damaged[keyAt(200)])
	}
}

func TestStore_Do_WritesToADamagedPageStayInTheLogAndAllOthersAreMoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, Options{})
	fillWith(t, s, 3)
	must(s.Close())
	damageItems(t, path)
	for range 3 {
		s = need(openQuick(path, Options{}))
		one(t, s, kv.OpSet(keyAt(0), []byte("new")))
		one(t, s, kv.OpSet(keyAt(1), []byte("new")))
		must(s.Do(t.Context(), []kv.Op{kv.OpSet(keyAt(2), nil), kv.OpDelete(keyAt(2))}))
		until(t, func() bool { return s.Stats().Carried == 3 })
		one(t, s, kv.OpDelete(keyAt(1)))
		rests(t, s)
		if st := s.Stats(); st.Carried != 3 || st.Trouble != nil {
			t.Errorf("want 3 items that stay in the log and no trouble, got %+v", st)
		}
		proof.Equal(t, string(one(t, s, kv.OpGet(keyAt(0))).Value), "new", "the key")
		wantGone(t, s, keyAt(1))
		wantGone(t, s, keyAt(2))
		proof.Contains(t, fmt.Sprint(s.Close()), "3 items stay in its log")
	}
}

// Deleting an item can have bbolt read the page beside its own.
func TestStore_Do_BesideDamagedPagesNothingIsLostAndNothingIsHeldUp(t *testing.T) {
	for range proof.Size(3, 100) {
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, 0))
		path := filepath.Join(t.TempDir(), "store.db")
		s := openAt(t, path, Options{Durability: Unsynced})
		fillWith(t, s, 1000)
		must(s.Close())
		clearPages(path, func(page []byte) bool {
			return bytes.Contains(page, []byte("bench:")) && random.IntN(10) == 0
		})
		want := make(map[string]string)
		for range 3 {
			s := need(openQuick(path, Options{Durability: Unsynced}))
			for i := range 1500 {
				key, value := keyAt(random.IntN(1000)), ""
				op := kv.OpDelete(key)
				if random.IntN(3) == 0 {
					value = fmt.Sprint("value ", i)
					op = kv.OpSet(key, []byte(value))
				}
				must(s.Do(t.Context(), []kv.Op{op}))
				want[key] = value
			}
			rests(t, s)
			if err := s.Stats().Trouble; err != nil {
				t.Errorf("seed %d: it cannot be moved: %v", seed, err)
			}
			_ = s.Close() // The log stays if some items cannot be moved.
		}
		s = need(Open(path, Options{}))
		for key, value := range want {
			switch r, err := kv.One(t.Context(), s, kv.OpGet(key)); {
			case value == "" && errors.Is(err, codec.ErrCorrupt): // All else on its page is gone, and a damaged one has its place.
			case value == "" && !errors.Is(err, kv.ErrNotFound):
				t.Errorf("seed %d: %s was deleted and holds %q, %v", seed, key, r.Value, err)
			case value != string(r.Value):
				t.Errorf("seed %d: %s holds %q, %v, want %q", seed, key, r.Value, err, value)
			}
		}
		_ = s.Close()
	}
}

func TestStore_Sweep_ExpiredItemsOfADamagedPageHoldNothingUp(t *testing.T) {
	path, clock := filepath.Join(t.TempDir(), "store.db"), newClock()
	s := openAt(t, path, Options{Now: clock.Now})
	for i := range 400 {
		one(t, s, kv.OpSet(keyAt(i), append([]byte("VALUE"), Noise(500)...)).For(time.Duration(i+1)*time.Second))
	}
	must(s.Close())
	cleared := clearPages(path, func(page []byte) bool {
		return bytes.Contains(page, []byte("VALUE")) && rand.IntN(3) == 0
	})
	clock.Advance(time.Hour)
	s = need(openQuick(path, Options{Now: clock.Now}))
	one(t, s, kv.OpSet("other", []byte("new")))
	rests(t, s)
	until(t, func() bool { return s.Stats().Swept > 0 })
	_ = s.Close() // If other belongs on a damaged page, the log stays.
	s = need(Open(path, Options{}))
	defer func() { _ = s.Close() }()
	if got := string(one(t, s, kv.OpGet("other")).Value); got != "new" || cleared == 0 {
		t.Errorf("the key holds %q after %d pages were cleared", got, cleared)
	}
}

// flipped is a store with some bits of its files flipped.
type flipped struct {
	path    string
	random  *rand.Rand
	refused int // stores that could not be opened
	corrupt int // items reported as damaged
	absent  int // items wrongly reported as absent
	older   int // earlier items of the key
	silent  int // items wrongly reported as absent though the scrub found nothing
	wrong   []string
}

func (f *flipped) read(t *testing.T, want, was map[string]string) {
	s, err := openQuick(f.path, Options{})
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			f.wrong = append(f.wrong, fmt.Sprint("Open: ", err))
		}
		f.refused++
		return
	}
	defer func() { _ = s.Close() }()
	before := f.absent
	defer func() {
		if f.absent == before {
			return
		}
		until(t, func() bool { return !s.Stats().Scrub.Ended.IsZero() })
		if s.Stats().Scrub.OK() {
			f.silent += f.absent - before
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
	proof.Alone(t)
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
			must(os.WriteFile(f.path+end, []byte(data), 0o600))
		}
		end := []string{"", "", "", ".log0", ".log1"}[f.random.IntN(5)]
		change(f.path+end, func(data []byte) []byte {
			data[f.random.IntN(len(data))] ^= 1 << f.random.IntN(8)
			return data
		})
		f.read(t, want, was)
	}
	t.Logf("seed %d: of %d flips %d were refused; %d reads corrupt; %d absent and %d older items that no read noticed, %d absent ones that the scrub did not",
		seed, flips, f.refused, f.corrupt, f.absent, f.older, f.silent)
	if len(f.wrong)+f.silent > 0 {
		t.Errorf("seed %d: %d silent, %d wrong: %.500q", seed, f.silent, len(f.wrong), f.wrong)
	}
}
