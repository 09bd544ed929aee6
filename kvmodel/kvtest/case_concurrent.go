package kvtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	goroutines = 16
	rounds     = 20
)

var concurrentCases = []Case{
	{"concurrent/increment", "increments by many goroutines add up exactly, and each answers a sum of its own", 0, func(f *fixture) {
		f.countsExactly(f.store)
	}},
	{"concurrent/increment-by-clients", "increments by two clients add up exactly", shared, func(f *fixture) {
		f.countsExactly(f.store, f.open())
	}},
	{"concurrent/decrement", "a number that many goroutines take down stops at zero, and each step above is answered once", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("200")))
		var sums sync.Map
		f.together(goroutines, rounds, func(int, int) error {
			r, err := f.one(f.store, kv.OpIncrement("k", -1))
			if err != nil {
				return err
			}
			if _, twice := sums.LoadOrStore(r.Number, true); twice && r.Number > 0 {
				return fmt.Errorf("two decrements answered %d", r.Number)
			}
			return nil
		})
		f.holds("k", "0")
	}},
	{"concurrent/add", "of many goroutines that add one key exactly one succeeds, and its value is there", 0, func(f *fixture) {
		for round := range rounds {
			key := fmt.Sprint("k", round)
			winner := f.oneWins(kv.ErrExists, func(i int) kv.Op { return kv.OpAdd(key, fmt.Append(nil, i)) })
			f.holds(key, fmt.Sprint(winner))
		}
	}},
	{"concurrent/swap", "of many goroutines that swap one version exactly one succeeds, and its value is there", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		for range rounds {
			version := f.version("k")
			winner := f.oneWins(kv.ErrConflict, func(i int) kv.Op { return kv.OpSwap("k", version, fmt.Append(nil, i)) })
			f.holds("k", fmt.Sprint(winner))
		}
	}},
	{"concurrent/swap-loop", "a loop of Get and CompareAndSwap by many goroutines loses nothing", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("0")))
		f.together(goroutines, 5, func(int, int) error { return f.addBySwap("k") })
		f.holds("k", fmt.Sprint(goroutines*5))
	}},
	{"concurrent/delete", "of many goroutines that delete one item exactly one finds it", 0, func(f *fixture) {
		for range rounds {
			f.ok(kv.OpSet("k", []byte("v")))
			f.oneWins(kv.ErrNotFound, func(int) kv.Op { return kv.OpDelete("k") })
			f.absent("k")
		}
	}},
	{"concurrent/drop", "of many goroutines that drop one version exactly one succeeds", 0, func(f *fixture) {
		for range rounds {
			version := f.put("k", "v")
			f.oneWins(kv.ErrNotFound, func(int) kv.Op { return kv.OpDrop("k", version) })
			f.absent("k")
		}
	}},
	{"concurrent/drop-or-swap", "of goroutines that swap and drop one version exactly one succeeds", 0, func(f *fixture) {
		for range rounds {
			f.dropOrSwap()
		}
	}},
	{"concurrent/add-and-delete", "the Adds and the Deletes of one key that succeed take turns", 0, func(f *fixture) {
		var adds, deletes atomic.Int64
		f.together(goroutines, rounds, func(i, _ int) error {
			op, count, refusal := kv.OpAdd("k", []byte("v")), &adds, kv.ErrExists
			if i%2 == 0 {
				op, count, refusal = kv.OpDelete("k"), &deletes, kv.ErrNotFound
			}
			switch err := f.each(f.store, op); {
			case err == nil:
				count.Add(1)
			case !optest.EndsIn(err, refusal):
				return err
			}
			return nil
		})
		present := int64(1)
		if r := f.do(kv.OpGet("k"))[0].Result; r.Err != nil {
			present = 0
		}
		if adds.Load()-deletes.Load() != present {
			f.Errorf("%d adds and %d deletes succeeded, and %d items are there", adds.Load(), deletes.Load(), present)
		}
	}},
	{"concurrent/append", "appends by many goroutines are all there, whole, and each goroutine's in its order", 0, func(f *fixture) {
		f.appendsAll(f.store)
	}},
	{"concurrent/append-by-clients", "appends by two clients are all there, whole, and each goroutine's in its order", shared, func(f *fixture) {
		f.appendsAll(f.store, f.open())
	}},
	{"concurrent/append-and-swap", "a CompareAndSwap among Appends loses none of them", 0, func(f *fixture) { f.appendAndSwap() }},
	{"concurrent/sealed", "nothing comes behind a seal: an Append that was stored stands before it", unless, func(f *fixture) {
		for range 10 {
			f.sealAmongAppends()
		}
	}},
	{"concurrent/whole-values", "a Get among Sets answers one of the values whole", 0, func(f *fixture) { f.wholeValues() }},
	{"concurrent/version-and-value", "one version never comes with two values", 0, func(f *fixture) { f.oneValuePerVersion() }},
	{"concurrent/trips", "trips of many ops by many goroutines do not disturb each other", 0, func(f *fixture) {
		f.together(goroutines, 5, f.ownKeys)
	}},
}

func (f *fixture) countsExactly(clients ...kv.Store) {
	f.Helper()
	f.ok(kv.OpSet("k", []byte("0")))
	sums := make([][]int64, goroutines)
	f.together(goroutines, rounds, func(i, _ int) error {
		r, err := f.one(clients[i%len(clients)], kv.OpIncrement("k", 1))
		sums[i] = append(sums[i], r.Number)
		return err
	})
	f.oneToN(slices.Concat(sums...), goroutines*rounds)
}

// oneWins wants one op to succeed and the others to fail with lost, and returns the winner.
func (f *fixture) oneWins(lost error, op func(i int) kv.Op) int {
	f.Helper()
	ops := make([]kv.Op, goroutines)
	f.together(goroutines, 1, func(i, _ int) error {
		ops[i] = op(i)
		return f.store.Do(f.ctx, ops[i:i+1])
	})
	return f.onlyWinner(ops, lost)
}

func (f *fixture) addBySwap(key string) error {
	for {
		r, err := f.one(f.store, kv.OpGet(key))
		if err != nil {
			return err
		}
		n, err := kv.ParseNumber(r.Value)
		if err != nil {
			return err
		}
		err = f.each(f.store, kv.OpSwap(key, r.Version, fmt.Append(nil, n+1)))
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
}

func (f *fixture) dropOrSwap() {
	f.Helper()
	version := f.put("k", "old")
	ops := make([]kv.Op, goroutines)
	f.together(goroutines, 1, func(i, _ int) error {
		ops[i] = kv.OpSwap("k", version, []byte("new"))
		if i%2 == 0 {
			ops[i] = kv.OpDrop("k", version)
		}
		return f.store.Do(f.ctx, ops[i:i+1])
	})
	winners := slices.DeleteFunc(ops, func(op kv.Op) bool { return op.Result.Err != nil })
	if len(winners) != 1 {
		f.Fatalf("%d of the ops with one version succeeded, want 1", len(winners))
	}
	if winners[0].Kind == kv.CompareAndDelete {
		f.absent("k")
	} else {
		f.holds("k", "new")
	}
}

func (f *fixture) appendsAll(clients ...kv.Store) {
	f.Helper()
	f.ok(kv.OpSet("k", nil))
	f.together(goroutines, rounds, func(i, round int) error {
		return f.each(clients[i%len(clients)], kv.OpAppend("k", fmt.Appendf(nil, "%d.%d;", i, round)))
	})
	f.allPieces("k", rounds)
}

func (f *fixture) allPieces(key string, n int) {
	f.Helper()
	var next [goroutines]int
	value := string(f.answer(kv.OpGet(key), nil).Value)
	for piece := range strings.SplitSeq(strings.TrimSuffix(value, ";"), ";") {
		var who, round int
		if _, err := fmt.Sscanf(piece, "%d.%d", &who, &round); err != nil || who < 0 || who >= goroutines || round != next[who] {
			f.Fatalf("piece %q where the next ones are %v", piece, next)
		}
		next[who]++
	}
	for who, got := range next {
		if got != n {
			f.Errorf("goroutine %d has %d pieces in the value, want %d", who, got, n)
		}
	}
}

func (f *fixture) appendAndSwap() {
	f.Helper()
	f.ok(kv.OpSet("k", nil))
	f.together(goroutines+2, 10, func(i, round int) error {
		if i < goroutines {
			return f.each(f.store, kv.OpAppend("k", fmt.Appendf(nil, "%d.%d;", i, round)))
		}
		r, err := f.one(f.store, kv.OpGet("k"))
		if err != nil {
			return err
		}
		if err = f.each(f.store, kv.OpSwap("k", r.Version, r.Value)); errors.Is(err, kv.ErrConflict) {
			return nil
		}
		return err
	})
	f.allPieces("k", 10)
}

// In sealAmongAppends, exactly the appends that succeed precede the seal.
func (f *fixture) sealAmongAppends() {
	f.Helper()
	f.ok(kv.OpSet("k", nil))
	var stored atomic.Int64
	f.together(goroutines, 1, func(i, _ int) error {
		if i == 0 {
			return f.each(f.store, appendUnless("k", "SEAL", "SEAL"))
		}
		for {
			err := f.each(f.store, appendUnless("k", "x", "SEAL"))
			if errors.Is(err, kv.ErrSealed) {
				return nil
			}
			if err != nil {
				return err
			}
			stored.Add(1)
		}
	})
	f.holds("k", strings.Repeat("x", int(stored.Load()))+"SEAL")
}

func (f *fixture) wholeValues() {
	f.Helper()
	value := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 1000*(i+1)) }
	f.ok(kv.OpSet("k", value(0)))
	f.together(goroutines, rounds, func(i, _ int) error {
		if i%2 == 0 {
			return f.each(f.store, kv.OpSet("k", value(i)))
		}
		r, err := f.one(f.store, kv.OpGet("k"))
		if err == nil && !bytes.Equal(r.Value, value(int(r.Value[0]-'a'))) {
			err = fmt.Errorf("the value is torn: %.20q... of %d bytes", r.Value, len(r.Value))
		}
		return err
	})
}

func (f *fixture) oneValuePerVersion() {
	f.Helper()
	f.ok(kv.OpSet("k", []byte("0")))
	var seen sync.Map
	f.together(goroutines, rounds, func(i, _ int) error {
		switch i % 4 {
		case 0:
			return f.each(f.store, kv.OpIncrement("k", 1))
		case 1:
			return f.each(f.store, kv.OpSet("k", fmt.Append(nil, i)))
		}
		r, err := f.one(f.store, kv.OpGet("k"))
		if err != nil {
			return err
		}
		if other, there := seen.LoadOrStore(r.Version, string(r.Value)); there && other != string(r.Value) {
			return fmt.Errorf("version %d came with %q and with %q", r.Version, other, r.Value)
		}
		return nil
	})
}

func (f *fixture) ownKeys(i, round int) error {
	var sets, gets []kv.Op
	for n := range 20 {
		key := fmt.Sprintf("k%d.%d", i, n)
		sets = append(sets, kv.OpSet(key, fmt.Appendf(nil, "%s.%d", key, round)))
		gets = append(gets, kv.OpGet(key))
	}
	if err := f.store.Do(f.ctx, sets); err != nil {
		return err
	}
	if err := f.store.Do(f.ctx, gets); err != nil {
		return err
	}
	for _, op := range gets {
		if want := fmt.Sprintf("%s.%d", op.Key, round); string(op.Result.Value) != want {
			return fmt.Errorf("%q is %s, want %q", op.Key, optest.ShowItem(op.Result), want)
		}
	}
	return nil
}
