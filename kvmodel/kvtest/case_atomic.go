package kvtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var errOfTheFunc = errors.New("the function's own error")

var atomicCases = []Case{
	{"atomic/all", "what the function has written is there when it returned nil", atomically, func(f *fixture) {
		f.ok(kv.OpSet("gone", []byte("v")), kv.OpSet("n", []byte("1")))
		f.atomic(nil, func(s kv.Store) error {
			return s.Do(f.ctx, []kv.Op{
				kv.OpSet("a", []byte("1")), kv.OpAdd("b", []byte("2")), kv.OpDelete("gone"), kv.OpIncrement("n", 1),
			})
		})
		f.holds("a", "1")
		f.holds("b", "2")
		f.holds("n", "2")
		f.absent("gone")
	}},
	{"atomic/nothing", "nothing of what the function has written is there when it returned an error, and Atomic returns that very error", atomically, func(f *fixture) {
		version := f.put("k", "10")
		f.atomic(errOfTheFunc, func(s kv.Store) error {
			return cmp.Or(f.each(s, kv.OpSet("new", []byte("1")), kv.OpAppend("k", []byte("5")), kv.OpIncrement("k", 1),
				kv.OpDelete("k"), kv.OpAdd("k", []byte("x"))), errOfTheFunc)
		})
		f.holds("k", "10")
		f.absent("new")
		if f.version("k") != version {
			f.Errorf("the version changed")
		}
	}},
	{"atomic/no-work", "a function that does nothing is fine", atomically, func(f *fixture) {
		f.atomic(nil, func(kv.Store) error { return nil })
	}},
	{"atomic/reads-own-writes", "the function reads what it has written, in every step", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")))
		f.atomic(nil, func(s kv.Store) error {
			steps := []kv.Op{
				kv.OpSet("k", []byte("5")), kv.OpIncrement("k", 1), kv.OpGet("k"), kv.OpDelete("k"), kv.OpGet("k"),
				kv.OpAdd("k", []byte("a")), kv.OpAppend("k", []byte("b")), kv.OpGet("k"),
			}
			for i := range steps {
				_ = s.Do(f.ctx, steps[i:i+1])
			}
			f.wantResults(steps, []kv.Result{{}, {Number: 6}, {Value: []byte("6")}, {}, {Err: kv.ErrNotFound}, {}, {}, {Value: []byte("ab")}})
			return nil
		})
		f.holds("k", "ab")
	}},
	{"atomic/versions-inside", "a version read inside is good inside, and stale after the function changed the item", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")))
		f.atomic(nil, func(s kv.Store) error {
			first, err := f.one(s, kv.OpGet("k"))
			if err != nil {
				return err
			}
			if err := f.each(s, kv.OpSwap("k", first.Version, []byte("2"))); err != nil {
				return err
			}
			for _, op := range []kv.Op{kv.OpSwap("k", first.Version, []byte("3")), kv.OpDrop("k", first.Version)} {
				if err := f.each(s, op); !optest.EndsIn(err, kv.ErrConflict) {
					return fmt.Errorf("a stale version inside ended in %w, want ErrConflict", err)
				}
			}
			return nil
		})
		f.holds("k", "2")
	}},
	{"atomic/versions-after", "versions read inside are good after the commit, and those from before are stale if the item changed", atomically, func(f *fixture) {
		f.ok(kv.OpSet("read", []byte("1")), kv.OpSet("written", []byte("1")))
		before := f.version("written")
		var read, written kv.Version
		f.atomic(nil, func(s kv.Store) error {
			if err := f.each(s, kv.OpSet("written", []byte("2"))); err != nil {
				return err
			}
			ops := []kv.Op{kv.OpGet("read"), kv.OpGet("written")}
			err := s.Do(f.ctx, ops)
			read, written = ops[0].Result.Version, ops[1].Result.Version
			return err
		})
		f.refused(kv.OpSwap("written", before, nil), kv.ErrConflict)
		f.ok(kv.OpSwap("read", read, []byte("new")), kv.OpSwap("written", written, []byte("new")))
	}},
	{"atomic/versions-dropped", "a version that was read inside and never committed is good for nothing", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("1")))
		var dropped kv.Version
		f.atomic(errOfTheFunc, func(s kv.Store) error {
			if err := f.each(s, kv.OpSet("k", []byte("2"))); err != nil {
				return err
			}
			r, err := f.one(s, kv.OpGet("k"))
			dropped = r.Version
			return cmp.Or(err, errOfTheFunc)
		})
		f.refused(kv.OpSwap("k", dropped, nil), kv.ErrConflict)
		f.ok(kv.OpSet("k", []byte("3")))
		f.refused(kv.OpSwap("k", dropped, nil), kv.ErrConflict)
	}},
	{"atomic/refusals", "inside as outside, what breaks the contract is refused and the rest is done", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("old")))
		f.atomic(nil, func(s kv.Store) error {
			ops := []kv.Op{
				kv.OpSet("k", big(kv.MaxValue+1)), kv.OpGet(""), kv.OpSwap("k", 0, nil), kv.OpIncrement("k", 1),
				kv.OpAppend("absent", nil), kv.OpSet("good", []byte("v")),
			}
			err := s.Do(f.ctx, ops)
			f.wantResults(ops, []kv.Result{
				{Err: kv.ErrTooLarge}, {Err: kv.ErrBadKey}, {Err: kv.ErrBadOp}, {Err: kv.ErrNotNumber},
				{Err: kv.ErrNotStored}, {},
			})
			return err
		})
		f.holds("k", "old")
		f.holds("good", "v")
	}},
	{"atomic/order", "inside the function the ops of one Do take effect in their order", atomically, func(f *fixture) {
		f.atomic(nil, func(s kv.Store) error {
			ops := []kv.Op{kv.OpSet("k", []byte("1")), kv.OpAppend("k", []byte("2")), kv.OpGet("k"), kv.OpIncrement("k", 1)}
			err := s.Do(f.ctx, ops)
			f.wantResults(ops, []kv.Result{{}, {}, {Value: []byte("12")}, {Number: 13}})
			return err
		})
	}},
	{"atomic/results-owned", "a value read inside belongs to the caller, also after the commit", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("value")))
		var got []byte
		f.atomic(nil, func(s kv.Store) error {
			r, err := f.one(s, kv.OpGet("k"))
			got = r.Value
			return err
		})
		f.ok(kv.OpSet("other", []byte("XXXXX")))
		if string(got) != "value" {
			f.Errorf("the value has become %q", got)
		}
		clear(got)
		f.holds("k", "value")
	}},
	{"atomic/inputs-owned", "the store keeps nothing of the bytes it was given inside", atomically, func(f *fixture) {
		f.atomic(nil, func(s kv.Store) error {
			buf := []byte("value")
			err := f.each(s, kv.OpSet("k", buf))
			clear(buf)
			return err
		})
		f.holds("k", "value")
	}},
	{"atomic/append-dropped", "an Append that was dropped leaves no byte behind, also for the Appends after it", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("a")), kv.OpAppend("k", []byte("b")))
		f.atomic(errOfTheFunc, func(s kv.Store) error {
			_, _ = f.one(s, kv.OpAppend("k", []byte("XX")))
			return errOfTheFunc
		})
		f.ok(kv.OpAppend("k", []byte("c")))
		f.holds("k", "abc")
	}},
	{"atomic/large", "one function may write many large values", atomically, func(f *fixture) {
		f.atomic(nil, func(s kv.Store) error {
			var sets []kv.Op
			for i := range 8 {
				sets = append(sets, kv.OpSet(fmt.Sprint("k", i), big(kv.MaxValue)))
			}
			return f.each(s, sets...)
		})
		f.holds("k7", string(big(kv.MaxValue)))
	}},
	{"atomic/context", "under a canceled context Atomic is ErrUnavailable, wraps the reason and does not run its function", atomically, func(f *fixture) {
		err := kv.PowersOf(f.store).Atomic(f.canceled(), func(kv.Store) error {
			f.Errorf("the function ran")
			return nil
		})
		if !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			f.Errorf("Atomic returned %v, want ErrUnavailable that wraps context.Canceled", err)
		}
	}},
	{"atomic/panic", "a panic in the function goes through, changes nothing and leaves no lock held", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("old")))
		func() {
			defer func() {
				if r := recover(); r != errOfTheFunc {
					f.Errorf("recovered %v, want the function's own value", r)
				}
			}()
			_ = kv.PowersOf(f.store).Atomic(f.ctx, func(s kv.Store) error {
				_, _ = f.one(s, kv.OpSet("k", []byte("new")))
				panic(errOfTheFunc)
			})
		}()
		f.holds("k", "old")
		f.ok(kv.OpSet("k", []byte("newer")))
		f.atomic(nil, func(kv.Store) error { return nil })
	}},
	{"atomic/store-kept", "the function's store is over when the function is: later ops are ErrUnavailable and change nothing", atomically, func(f *fixture) {
		var leaked kv.Store
		f.atomic(nil, func(s kv.Store) error { leaked = s; return nil })
		if err := f.each(leaked, kv.OpSet("k", []byte("v"))); !errors.Is(err, kv.ErrUnavailable) {
			f.Errorf("a set through the old store ended in %v, want ErrUnavailable", err)
		}
		f.absent("k")
	}},
	{"atomic/close-inside", "the function's store may be closed: that is no end of the real one", atomically, func(f *fixture) {
		f.atomic(nil, func(s kv.Store) error {
			return errors.Join(f.each(s, kv.OpSet("k", []byte("v"))), s.Close())
		})
		f.holds("k", "v")
	}},
	{"atomic/isolated", "no client sees a part of what a function writes, and no client's op comes between its own", atomically, func(f *fixture) {
		f.isolated()
	}},
	{"atomic/counts", "increments inside Atomic and outside add up", atomically, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("0")))
		f.together(8, 25, func(i, _ int) error {
			if i%2 == 0 {
				return f.each(f.store, kv.OpIncrement("k", 1))
			}
			return kv.PowersOf(f.store).Atomic(f.ctx, func(s kv.Store) error {
				n, err := f.numberOf(s, "k")
				if err != nil {
					return err
				}
				return f.each(s, kv.OpSet("k", fmt.Append(nil, n+1)))
			})
		})
		f.number(kv.OpIncrement("k", 0), 200)
	}},
}

func (f *fixture) isolated() {
	f.Helper()
	f.ok(kv.OpSet("a", []byte("100")), kv.OpSet("b", []byte("0")))
	atomic := kv.PowersOf(f.store).Atomic
	f.together(8, 25, func(i, _ int) error {
		if i < 4 {
			return atomic(f.ctx, func(s kv.Store) error { return f.each(s, kv.OpIncrement("a", -1), kv.OpIncrement("b", 1)) })
		}
		var sum int64
		err := atomic(f.ctx, func(s kv.Store) error {
			sum = 0
			for _, key := range []string{"a", "b"} {
				n, err := f.numberOf(s, key)
				if err != nil {
					return err
				}
				sum += n
			}
			return nil
		})
		if err != nil || sum != 100 {
			return fmt.Errorf("a and b sum up to %d, want 100 (%v)", sum, err)
		}
		return nil
	})
	f.holds("a", "0")
	f.holds("b", "100")
}
