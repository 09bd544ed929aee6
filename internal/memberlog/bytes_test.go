package memberlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// readDamaged stores value under key and reads the list as a new process.
func readDamaged(t testing.TB, s kv.Store, key string, value []byte) (ids []string, err error) {
	t.Helper()
	ctx := context.Background()
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(key, value)))
	err = fresh(s).Each(ctx, s, place, func(id string) error { ids = append(ids, id); return nil })
	slices.Sort(ids)
	return ids, err
}

func valueOf(t testing.TB, s kv.Store, key string) []byte {
	t.Helper()
	r, err := kv.One(context.Background(), s, kv.OpGet(key))
	must(t, err)
	return r.Value
}

func wantCorrupt(t testing.TB, what string, at int, key string, err error) {
	t.Helper()
	if !errors.Is(err, codec.ErrCorrupt) || !strings.Contains(err.Error(), key) {
		t.Errorf("%s at byte %d: got %v, want an ErrCorrupt that names %s", what, at, err, key)
	}
}

func TestLogs_CutOrChangedBytesAreCorruptAndNameTheKey(t *testing.T) {
	s := server{memkv.New(memkv.Options{})}
	l, wait := prompt(s, small)
	fill(t, l, wait, 120)
	h, err := l.readHead(t.Context(), s, place)
	must(t, err)
	for _, key := range []string{l.Key(place), l.key(place, h.parts[1].name)} {
		whole := valueOf(t, s, key)
		g, err := parseSegment(whole)
		if key != l.Key(place) && (err != nil || g.folded == 0) {
			t.Fatalf("%s has no base: %v", key, err)
		}
		for at := range whole {
			if key == l.Key(place) || at < segmentHead+baseSize(g.rows[:g.folded]) {
				_, err := readDamaged(t, s, key, whole[:at])
				wantCorrupt(t, "a cut", at, key, err)
			}
			changed := slices.Clone(whole)
			changed[at] ^= 1 << (at % 8)
			_, err := readDamaged(t, s, key, changed)
			wantCorrupt(t, "a change", at, key, err)
		}
		proof.Done(t)(readDamaged(t, s, key, whole))
	}
}

// A cut in the tail is unnoticed only between two records.
func TestLogs_ACutRecordOfTheTailIsCorrupt(t *testing.T) {
	ctx := t.Context()
	s := server{memkv.New(memkv.Options{})}
	l, _ := prompt(s, small)
	key := l.key(place, name{})
	between := map[int]int{} // members before a cut
	for i, id := range []string{"ann", "bob", "cem"} {
		must(t, l.Write(ctx, s, place, Entry{ID: id, Rev: 1 << 40, In: true}))
		between[len(valueOf(t, s, key))] = i + 1
	}
	whole := valueOf(t, s, key)
	for at := range whole {
		ids, err := readDamaged(t, s, key, whole[:at])
		if n, ok := between[at]; ok {
			if err != nil || len(ids) != n {
				t.Errorf("cut after %d records: %v, %v", n, ids, err)
			}
			continue
		}
		wantCorrupt(t, "a cut", at, key, err)
	}
}

// A fold would hide the damage.
func TestLogs_ACorruptSegmentIsNotFolded(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		ctx := t.Context()
		l, _ := prompt(s, small)
		fill(t, l, func() {}, 200) // more than a segment takes
		key := l.key(place, name{})
		damaged := valueOf(t, s, key)
		damaged[len(damaged)/2] ^= 1
		proof.Done(t)(kv.One(ctx, s, kv.OpSet(key, damaged)))
		wantErr(t, l.tend(ctx, place, name{}), codec.ErrCorrupt)
		wantErr(t, l.roll(ctx, s, place, name{}), codec.ErrCorrupt)
		if now := valueOf(t, s, key); !slices.Equal(now[:len(damaged)], damaged) {
			t.Error("it was replaced")
		}
	})
}

// FuzzParse checks that a read of any bytes returns an error, or a list with each member once and
// in order.
func FuzzParse(f *testing.F) {
	seg := encodeSegment(nil)
	for i, id := range []string{"ann", "", "\xff"} {
		seg = appendRecord(seg, &Entry{ID: id, Rev: uint64(i), In: i != 1, At: int64(i)})
	}
	f.Add(seg)
	f.Add(append(slices.Clone(seg), sealByte, 1, 2))
	f.Add(retired)
	f.Add(noHead().encode())
	h := noHead()
	f.Add(h.with(0, 1, h.parts[0].split(2)).encode())
	f.Fuzz(func(t *testing.T, value []byte) {
		h, err := parseHead(value, 1)
		if err == nil {
			for hash := uint64(0); hash < 1<<63; hash = hash*2 + 1 {
				if p := h.parts[h.find(hash)]; hash < p.from || hash > p.last() {
					t.Fatalf("%x is put into a part from %x to %x", hash, p.from, p.last())
				}
			}
		} else if !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt", err)
		}
		g, err := parseSegment(value)
		if err != nil && !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("got %v, want ErrCorrupt", err)
		}
		if err != nil || g.retired {
			return
		}
		rows := g.newest()
		again, err := parseSegment(encodeSegment(rows))
		if err != nil || !slices.Equal(rows, again.newest()) {
			t.Fatalf("folded, %v is %v, %v", rows, again.newest(), err)
		}
	})
}

// Some hashes begin with the same bits, and members have several entries.
func TestRearrange_TheOrderIsByPositionAndThenByArrival(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		rows := make([]row, 1+rng.IntN(60))
		for i := range rows {
			rows[i].ID = fmt.Sprint(rng.IntN(8))
			rows[i].hash = uint64(rng.IntN(3))<<60 | uint64(rng.IntN(3))
			rows[i].Rev = uint64(i)
		}
		want := slices.Clone(rows)
		slices.SortStableFunc(want, func(a, b row) int { return a.compare(&b) })
		rearrange(rows, order(rows))
		if !slices.Equal(rows, want) {
			t.Fatalf("seed %d: got %v, want %v", seed, rows, want)
		}
	}
}
