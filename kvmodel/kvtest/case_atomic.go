package kvtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
)

var errOfTheFunc = errors.New("the function's own error")

var atomicCases = []Case{
	{"atomic/all", "what the function has written is there when it returned nil", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("gone", []byte("v")), kvmodel.OpSet("n", []byte("1")))
		f.atomic(nil, func(s kvmodel.Store) error {
			return s.Do(f.ctx, []kvmodel.Op{
				kvmodel.OpSet("a", []byte("1")), kvmodel.OpAdd("b", []byte("2")), kvmodel.OpDelete("gone"), kvmodel.OpIncrement("n", 1),
			})
		})
		f.holds("a", "1")
		f.holds("b", "2")
		f.holds("n", "2")
		f.absent("gone")
	}},
	{"atomic/nothing", "nothing of what the function has written is there when it returned an error, and Atomic returns that very error", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("10")))
		version := f.version("k")
		f.atomic(errOfTheFunc, func(s kvmodel.Store) error {
			for _, op := range []kvmodel.Op{
				kvmodel.OpSet("new", []byte("1")), kvmodel.OpAppend("k", []byte("5")), kvmodel.OpIncrement("k", 1), kvmodel.OpDelete("k"),
				kvmodel.OpAdd("k", []byte("x")),
			} {
				if _, err := f.one(s, op); err != nil {
					return err
				}
			}
			return errOfTheFunc
		})
		f.holds("k", "10")
		f.absent("new")
		if f.version("k") != version {
			f.Errorf("the version changed")
		}
	}},
	{"atomic/no-work", "a function that does nothing is fine", atomically, func(f *fixture) {
		f.atomic(nil, func(kvmodel.Store) error { return nil })
	}},
	{"atomic/reads-own-writes", "the function reads what it has written, in every step", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("1")))
		f.atomic(nil, func(s kvmodel.Store) error {
			steps := []kvmodel.Op{
				kvmodel.OpSet("k", []byte("5")), kvmodel.OpIncrement("k", 1), kvmodel.OpGet("k"), kvmodel.OpDelete("k"), kvmodel.OpGet("k"),
				kvmodel.OpAdd("k", []byte("a")), kvmodel.OpAppend("k", []byte("b")), kvmodel.OpGet("k"),
			}
			for i := range steps {
				_ = s.Do(f.ctx, steps[i:i+1])
			}
			f.wantResults(steps, []kvmodel.Result{{}, {Number: 6}, {Value: []byte("6")}, {}, {Err: kvmodel.ErrNotFound}, {}, {}, {Value: []byte("ab")}})
			return nil
		})
		f.holds("k", "ab")
	}},
	{"atomic/versions-inside", "a version read inside is good inside, and stale after the function changed the item", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("1")))
		f.atomic(nil, func(s kvmodel.Store) error {
			first, err := f.one(s, kvmodel.OpGet("k"))
			if err != nil {
				return err
			}
			if _, err := f.one(s, kvmodel.OpSwap("k", first.Version, []byte("2"))); err != nil {
				return err
			}
			if _, err := f.one(s, kvmodel.OpSwap("k", first.Version, []byte("3"))); !endsIn(err, kvmodel.ErrConflict) {
				return fmt.Errorf("a stale version inside ended in %w, want ErrConflict", err)
			}
			if _, err := f.one(s, kvmodel.OpDrop("k", first.Version)); !endsIn(err, kvmodel.ErrConflict) {
				return fmt.Errorf("a stale version inside ended in %w, want ErrConflict", err)
			}
			return nil
		})
		f.holds("k", "2")
	}},
	{"atomic/versions-after", "versions read inside are good after the commit, and those from before are stale if the item changed", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("read", []byte("1")), kvmodel.OpSet("written", []byte("1")))
		before := f.version("written")
		var read, written kvmodel.Version
		f.atomic(nil, func(s kvmodel.Store) error {
			ops := []kvmodel.Op{kvmodel.OpSet("written", []byte("2"))}
			if err := s.Do(f.ctx, ops); err != nil {
				return err
			}
			ops = []kvmodel.Op{kvmodel.OpGet("read"), kvmodel.OpGet("written")}
			err := s.Do(f.ctx, ops)
			read, written = ops[0].Result.Version, ops[1].Result.Version
			return err
		})
		f.refused(kvmodel.OpSwap("written", before, nil), kvmodel.ErrConflict)
		f.ok(kvmodel.OpSwap("read", read, []byte("new")), kvmodel.OpSwap("written", written, []byte("new")))
	}},
	{"atomic/versions-dropped", "a version that was read inside and never committed is good for nothing", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("1")))
		var dropped kvmodel.Version
		f.atomic(errOfTheFunc, func(s kvmodel.Store) error {
			_, err := f.one(s, kvmodel.OpSet("k", []byte("2")))
			if err != nil {
				return err
			}
			r, err := f.one(s, kvmodel.OpGet("k"))
			dropped = r.Version
			return errors.Join(err, errOfTheFunc)
		}, errors.Is)
		f.refused(kvmodel.OpSwap("k", dropped, nil), kvmodel.ErrConflict)
		f.ok(kvmodel.OpSet("k", []byte("3")))
		f.refused(kvmodel.OpSwap("k", dropped, nil), kvmodel.ErrConflict)
	}},
	{"atomic/refusals", "inside as outside, what breaks the contract is refused and the rest is done", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("old")))
		f.atomic(nil, func(s kvmodel.Store) error {
			ops := []kvmodel.Op{
				kvmodel.OpSet("k", big(kvmodel.MaxValue+1)), kvmodel.OpGet(""), kvmodel.OpSwap("k", 0, nil), kvmodel.OpIncrement("k", 1),
				kvmodel.OpAppend("absent", nil), kvmodel.OpSet("good", []byte("v")),
			}
			err := s.Do(f.ctx, ops)
			f.wantResults(ops, []kvmodel.Result{
				{Err: kvmodel.ErrTooLarge}, {Err: kvmodel.ErrBadKey}, {Err: kvmodel.ErrBadOp}, {Err: kvmodel.ErrNotNumber},
				{Err: kvmodel.ErrNotStored}, {},
			})
			return err
		})
		f.holds("k", "old")
		f.holds("good", "v")
	}},
	{"atomic/order", "inside the function the ops of one Do take effect in their order", atomically, func(f *fixture) {
		f.atomic(nil, func(s kvmodel.Store) error {
			ops := []kvmodel.Op{kvmodel.OpSet("k", []byte("1")), kvmodel.OpAppend("k", []byte("2")), kvmodel.OpGet("k"), kvmodel.OpIncrement("k", 1)}
			err := s.Do(f.ctx, ops)
			f.wantResults(ops, []kvmodel.Result{{}, {}, {Value: []byte("12")}, {Number: 13}})
			return err
		})
	}},
	{"atomic/results-owned", "a value read inside belongs to the caller, also after the commit", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("value")))
		var got []byte
		f.atomic(nil, func(s kvmodel.Store) error {
			r, err := f.one(s, kvmodel.OpGet("k"))
			got = r.Value
			return err
		})
		f.ok(kvmodel.OpSet("other", []byte("XXXXX")))
		if string(got) != "value" {
			f.Errorf("the value has become %q", got)
		}
		clear(got)
		f.holds("k", "value")
	}},
	{"atomic/inputs-owned", "the store keeps nothing of the bytes it was given inside", atomically, func(f *fixture) {
		f.atomic(nil, func(s kvmodel.Store) error {
			buf := []byte("value")
			_, err := f.one(s, kvmodel.OpSet("k", buf))
			clear(buf)
			return err
		})
		f.holds("k", "value")
	}},
	{"atomic/append-dropped", "an Append that was dropped leaves no byte behind, also for the Appends after it", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("a")), kvmodel.OpAppend("k", []byte("b")))
		f.atomic(errOfTheFunc, func(s kvmodel.Store) error {
			_, _ = f.one(s, kvmodel.OpAppend("k", []byte("XX")))
			return errOfTheFunc
		})
		f.ok(kvmodel.OpAppend("k", []byte("c")))
		f.holds("k", "abc")
	}},
	{"atomic/large", "one function may write many large values", atomically, func(f *fixture) {
		f.atomic(nil, func(s kvmodel.Store) error {
			for i := range 8 {
				if _, err := f.one(s, kvmodel.OpSet(fmt.Sprint("k", i), big(kvmodel.MaxValue))); err != nil {
					return err
				}
			}
			return nil
		})
		f.holds("k7", string(big(kvmodel.MaxValue)))
	}},
	{"atomic/context", "under a cancelled context Atomic is ErrUnavailable, wraps the reason and does not run its function", atomically, func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		cancel()
		err := kvmodel.PowersOf(f.store).Atomic(ctx, func(kvmodel.Store) error {
			f.Errorf("the function ran")
			return nil
		})
		if !errors.Is(err, kvmodel.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			f.Errorf("Atomic returned %v, want ErrUnavailable that wraps context.Canceled", err)
		}
	}},
	{"atomic/panic", "a panic in the function goes through, changes nothing and leaves no lock held", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("old")))
		func() {
			defer func() {
				if r := recover(); r != errOfTheFunc {
					f.Errorf("recovered %v, want the function's own value", r)
				}
			}()
			_ = kvmodel.PowersOf(f.store).Atomic(f.ctx, func(s kvmodel.Store) error {
				_, _ = f.one(s, kvmodel.OpSet("k", []byte("new")))
				panic(errOfTheFunc)
			})
		}()
		f.holds("k", "old")
		f.ok(kvmodel.OpSet("k", []byte("newer")))
		f.atomic(nil, func(kvmodel.Store) error { return nil })
	}},
	{"atomic/store-kept", "the function's store is over when the function is: later ops are ErrUnavailable and change nothing", atomically, func(f *fixture) {
		var leaked kvmodel.Store
		f.atomic(nil, func(s kvmodel.Store) error { leaked = s; return nil })
		if _, err := f.one(leaked, kvmodel.OpSet("k", []byte("v"))); !errors.Is(err, kvmodel.ErrUnavailable) {
			f.Errorf("a set through the old store ended in %v, want ErrUnavailable", err)
		}
		f.absent("k")
	}},
	{"atomic/close-inside", "the function's store may be closed: that is no end of the real one", atomically, func(f *fixture) {
		f.atomic(nil, func(s kvmodel.Store) error {
			_, err := f.one(s, kvmodel.OpSet("k", []byte("v")))
			return errors.Join(err, s.Close())
		})
		f.holds("k", "v")
	}},
	{"atomic/isolated", "nobody sees a part of what a function writes, and nobody's op comes between its own", atomically, func(f *fixture) {
		f.isolated()
	}},
	{"atomic/counts", "increments inside Atomic and outside add up", atomically, func(f *fixture) {
		f.ok(kvmodel.OpSet("k", []byte("0")))
		f.together(8, func(i int) error {
			for range 25 {
				var err error
				if i%2 == 0 {
					_, err = f.one(f.store, kvmodel.OpIncrement("k", 1))
				} else {
					err = kvmodel.PowersOf(f.store).Atomic(f.ctx, func(s kvmodel.Store) error {
						r, err := f.one(s, kvmodel.OpGet("k"))
						if err != nil {
							return err
						}
						n, err := kvmodel.ParseNumber(r.Value)
						if err != nil {
							return err
						}
						_, err = f.one(s, kvmodel.OpSet("k", fmt.Append(nil, n+1)))
						return err
					})
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		f.number(kvmodel.OpIncrement("k", 0), 200)
	}},
}

// atomic runs work atomically and wants Atomic to return want, the very same
// unless same compares otherwise.
func (f *fixture) atomic(want error, work func(kvmodel.Store) error, same ...func(err, want error) bool) {
	f.Helper()
	err := kvmodel.PowersOf(f.store).Atomic(f.ctx, work)
	if len(same) > 0 && same[0](err, want) {
		return
	}
	if err != want {
		f.Fatalf("Atomic returned %v, want %v", err, want)
	}
}

// isolated moves an amount to and fro between two keys while others read both.
func (f *fixture) isolated() {
	f.Helper()
	f.ok(kvmodel.OpSet("a", []byte("100")), kvmodel.OpSet("b", []byte("0")))
	atomic := kvmodel.PowersOf(f.store).Atomic
	move := func(s kvmodel.Store) error {
		for _, op := range []kvmodel.Op{kvmodel.OpIncrement("a", -1), kvmodel.OpIncrement("b", 1)} {
			if _, err := f.one(s, op); err != nil {
				return err
			}
		}
		return nil
	}
	f.together(8, func(i int) error {
		for range 25 {
			if i < 4 {
				if err := atomic(f.ctx, move); err != nil {
					return err
				}
				continue
			}
			var sum int64
			err := atomic(f.ctx, func(s kvmodel.Store) error {
				for _, key := range []string{"a", "b"} {
					r, err := f.one(s, kvmodel.OpGet(key))
					if err != nil {
						return err
					}
					n, err := kvmodel.ParseNumber(r.Value)
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
		}
		return nil
	})
	f.holds("a", "0")
	f.holds("b", "100")
}
