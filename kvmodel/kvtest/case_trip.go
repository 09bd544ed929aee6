package kvtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var tripCases = []Case{
	{"trip/no-ops", "a Do without ops returns nil", 0, func(f *fixture) {
		f.do()
		if err := f.store.Do(f.ctx, []kv.Op{}); err != nil {
			f.Errorf("Do of an empty slice: %v", err)
		}
	}},
	{"trip/answers-are-no-error", "Do returns nil whatever the answers are", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")))
		ops := f.do(kv.OpGet("absent"), kv.OpAdd("k", nil), kv.OpIncrement("k", 1), kv.OpAppend("absent", nil),
			kv.OpGet(""), kv.OpDrop("k", 0))
		wants := []error{kv.ErrNotFound, kv.ErrExists, kv.ErrNotNumber, kv.ErrNotStored, kv.ErrBadKey, kv.ErrBadOp}
		for i, want := range wants {
			f.ended(ops[i], want)
		}
	}},
	{"trip/every-kind", "ops of every kind go in one trip, each with its own answer", 0, func(f *fixture) { f.mixed(1) }},
	{"trip/500-mixed", "five hundred ops of all kinds go in one trip, each with its own answer", 0, func(f *fixture) { f.mixed(63) }},
	{"trip/1000-gets", "a thousand Gets go in one trip: what is there is found, what is not is ErrNotFound", 0, func(f *fixture) {
		f.manyGets(1000)
	}},
	{"trip/1000-sets", "a thousand Sets go in one trip", 0, func(f *fixture) {
		ops := make([]kv.Op, 1000)
		for i := range ops {
			ops[i] = kv.OpSet(fmt.Sprint("k", i), fmt.Append(nil, i))
		}
		f.do(ops...)
		for i := range ops {
			ops[i] = kv.OpGet(ops[i].Key)
		}
		for i, op := range f.do(ops...) {
			if op.Result.Err != nil || string(op.Result.Value) != fmt.Sprint(i) {
				f.Fatalf("%q is %s", op.Key, optest.ShowItem(op.Result))
			}
		}
	}},
	{"trip/large", "a trip may carry many large values, to the store and back", 0, func(f *fixture) {
		var sets, gets []kv.Op
		for i := range 12 {
			key := fmt.Sprint("k", i)
			sets = append(sets, kv.OpSet(key, bytes.Repeat([]byte{byte(i)}, kv.MaxValue)))
			gets = append(gets, kv.OpGet(key))
		}
		f.do(sets...)
		for i, op := range f.do(gets...) {
			if !bytes.Equal(op.Result.Value, sets[i].Value) {
				f.Errorf("%q is %s", op.Key, optest.ShowItem(op.Result))
			}
		}
	}},
	{"trip/same-key-gets", "many Gets of one key in one trip all find it, each with memory of its own", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("value")))
		ops := f.do(slices.Repeat([]kv.Op{kv.OpGet("k")}, 20)...)
		for i := range ops {
			if got := string(ops[i].Result.Value); got != "value" {
				f.Fatalf("get %d answered %q", i, got)
			}
			clear(ops[i].Result.Value)
		}
	}},
	{"trip/same-key-adds", "of many Adds of one key in one trip exactly one succeeds", 0, func(f *fixture) {
		ops := f.do(kv.OpAdd("k", []byte("0")), kv.OpAdd("k", []byte("1")), kv.OpAdd("k", []byte("2")), kv.OpAdd("k", []byte("3")))
		winner := f.onlyWinner(ops, kv.ErrExists)
		f.holds("k", fmt.Sprint(winner))
	}},
	{"trip/same-key-swaps", "of many CompareAndSwaps with one version in one trip exactly one succeeds", 0, func(f *fixture) {
		v := f.put("k", "old")
		ops := f.do(kv.OpSwap("k", v, []byte("0")), kv.OpSwap("k", v, []byte("1")), kv.OpSwap("k", v, []byte("2")))
		f.holds("k", fmt.Sprint(f.onlyWinner(ops, kv.ErrConflict)))
	}},
	{"trip/same-key-drops", "of many CompareAndDeletes with one version in one trip exactly one succeeds", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("old")))
		f.onlyWinner(f.do(slices.Repeat([]kv.Op{kv.OpDrop("k", f.version("k"))}, 5)...), kv.ErrNotFound)
		f.absent("k")
	}},
	{"trip/same-key-deletes", "of many Deletes of one key in one trip exactly one finds it", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("old")))
		f.onlyWinner(f.do(slices.Repeat([]kv.Op{kv.OpDelete("k")}, 5)...), kv.ErrNotFound)
	}},
	{"trip/same-key-sets", "after many Sets of one key in one trip it holds one of the values", 0, func(f *fixture) {
		f.do(kv.OpSet("k", []byte("a")), kv.OpSet("k", []byte("b")), kv.OpSet("k", []byte("c")))
		if got := string(f.answer(kv.OpGet("k"), nil).Value); got != "a" && got != "b" && got != "c" {
			f.Errorf("the key holds %q", got)
		}
	}},
	{"trip/same-key-increments", "many Increments of one key in one trip add up, and each answers a sum of its own", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("0")))
		var sums []int64
		for _, op := range f.do(slices.Repeat([]kv.Op{kv.OpIncrement("k", 1)}, 20)...) {
			sums = append(sums, op.Result.Number)
		}
		f.oneToN(sums, 20)
		f.holds("k", "20")
	}},
	{"trip/same-key-appends", "many Appends to one key in one trip are all there", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", nil))
		var ops []kv.Op
		for i := range 2600 {
			ops = append(ops, kv.OpAppend("k", []byte{'a' + byte(i/100)}))
		}
		f.do(ops...)
		got := f.answer(kv.OpGet("k"), nil).Value
		slices.Sort(got)
		if want := bytes.Repeat([]byte("abcdefghijklmnopqrstuvwxyz"), 100); len(got) != len(want) || string(slices.Compact(got)) != string(want[:26]) {
			f.Errorf("sorted, the value is %.200q of %d bytes", got, len(got))
		}
	}},
	{"trip/ordered", "on a store with the power Ordered the ops of one trip take effect in their order", ordered, func(f *fixture) {
		ops := f.do(kv.OpSet("k", []byte("1")), kv.OpAppend("k", []byte("0")), kv.OpIncrement("k", 5),
			kv.OpGet("k"), kv.OpDelete("k"), kv.OpGet("k"), kv.OpAdd("k", []byte("new")), kv.OpAdd("k", nil))
		f.wantResults(ops, []kv.Result{{}, {}, {Number: 15}, {Value: []byte("15")}, {}, {Err: kv.ErrNotFound}, {}, {Err: kv.ErrExists}})
		f.holds("k", "new")
	}},
	{"trip/ordered-many", "also thousands of ops on one key keep their order on a store with the power Ordered", ordered, func(f *fixture) {
		ops := []kv.Op{kv.OpSet("k", nil)}
		var want []byte
		for i := range 3000 {
			ops = append(ops, kv.OpAppend("k", []byte{byte(i)}))
			want = append(want, byte(i))
		}
		f.do(ops...)
		f.holds("k", string(want))
	}},
	{"trip/chain", "an op of a chain is skipped if an earlier one failed, and ops of no chain or another are not", ordered, func(f *fixture) {
		in := func(chain uint64, op kv.Op) kv.Op { op.Chain = chain; return op }
		f.ok(kv.OpSet("there", []byte("1")))
		ops := f.do(in(1, kv.OpIncrement("there", 1)), in(1, kv.OpSet("a", nil)), in(2, kv.OpSet("b", nil)),
			in(1, kv.OpAdd("there", nil)), kv.OpAppend("absent", []byte("x")), in(1, kv.OpSet("c", nil)), in(2, kv.OpAppend("b", []byte("y"))),
			kv.OpSet("d", nil), in(1, kv.OpDelete("there")), in(1, kv.OpGet("there")))
		skipped := kv.Result{Err: kv.ErrSkipped}
		f.wantResults(ops, []kv.Result{{Number: 2}, {}, {}, {Err: kv.ErrExists}, {Err: kv.ErrNotStored}, skipped, {}, {}, skipped, skipped})
		f.holds("there", "2")
		f.holds("b", "y")
		f.answer(kv.OpGet("c"), kv.ErrNotFound)
	}},
	{"trip/chain-bad", "a chain breaks at an op that is refused before it is sent", ordered, func(f *fixture) {
		bad := kv.OpSet("", nil)
		bad.Chain = 1
		next := kv.OpSet("k", nil)
		next.Chain = 1
		ops := f.do(bad, next)
		f.wantResults(ops, []kv.Result{{Err: kv.ErrBadKey}, {Err: kv.ErrSkipped}})
		f.answer(kv.OpGet("k"), kv.ErrNotFound)
	}},
	{"result/reset", "the results that ops bring with them from an earlier trip are emptied", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("7")))
		old := kv.Result{Value: []byte("old"), Version: 99, Number: 99, Err: kv.ErrLost}
		ops := []kv.Op{
			kv.OpGet("absent"), kv.OpSet("k", []byte("7")), kv.OpAdd("k", nil), kv.OpIncrement("k", 1),
			kv.OpAppend("k", nil), kv.OpDelete("absent"), kv.OpGet(""),
		}
		for i := range ops {
			ops[i].Result = old
		}
		f.do(ops...)
		for _, op := range ops {
			if op.Result.Value != nil || op.Result.Version != 0 || errors.Is(op.Result.Err, kv.ErrLost) || op.Result.Number == 99 {
				f.Errorf("%s: something of the old result is left: %+v", optest.Show(op), op.Result)
			}
		}
	}},
	{"result/reuse", "an op that was used before can be used again", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("v")))
		ops := []kv.Op{kv.OpGet("k"), kv.OpDelete("k")}
		f.do(ops[1:]...)
		f.do(ops[:1]...)
		f.do(ops[1:]...)
		for i := range ops {
			if !optest.EndsIn(ops[i].Result.Err, kv.ErrNotFound) || ops[i].Result.Value != nil {
				f.Errorf("%s is %+v, want ErrNotFound", optest.Show(ops[i]), ops[i].Result)
			}
		}
	}},
	{"result/owned", "a value that was read belongs to the caller: changing it changes nothing in the store", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("value")))
		got := f.answer(kv.OpGet("k"), nil).Value
		clear(got)
		_ = append(got, "more"...)
		f.holds("k", "value")
		f.ok(kv.OpAppend("k", []byte("+")))
		f.holds("k", "value+")
	}},
	{"result/stays", "a value that was read does not change when the store does", 0, func(f *fixture) {
		f.ok(kv.OpSet("k", []byte("10")))
		got := f.answer(kv.OpGet("k"), nil).Value
		f.ok(kv.OpIncrement("k", 5), kv.OpAppend("k", []byte("x")), kv.OpSet("k", []byte("99")), kv.OpDelete("k"))
		for range 50 {
			f.ok(kv.OpSet("k", []byte("ZZ")))
		}
		if string(got) != "10" {
			f.Errorf("the value read as 10 has become %q", got)
		}
	}},
	{"result/neighbors", "growing one value of a trip does not touch the next one", 0, func(f *fixture) {
		f.ok(kv.OpSet("a", []byte("aa")), kv.OpSet("b", []byte("bb")))
		ops := f.do(kv.OpGet("a"), kv.OpGet("b"))
		_ = append(ops[0].Result.Value, "xxxxxxxx"...)
		if got := string(ops[1].Result.Value); got != "bb" {
			f.Errorf("the second value has become %q", got)
		}
	}},
	{"input/owned", "the store keeps nothing of the bytes it was given", 0, func(f *fixture) {
		f.ok(kv.OpSet("swap", nil), kv.OpSet("append", nil))
		buf := []byte("value")
		f.ok(kv.OpSet("set", buf), kv.OpAdd("add", buf), kv.OpSwap("swap", f.version("swap"), buf), kv.OpAppend("append", buf))
		clear(buf)
		for _, key := range []string{"set", "add", "swap", "append"} {
			f.holds(key, "value")
		}
	}},
	{"input/shared", "ops of one trip may share the bytes of their values", 0, func(f *fixture) {
		buf := []byte("value")
		f.do(kv.OpSet("a", buf), kv.OpSet("b", buf[:3]), kv.OpAdd("c", buf[1:]))
		f.ok(kv.OpAppend("b", []byte("!!")))
		f.holds("a", "value")
		f.holds("b", "val!!")
		f.holds("c", "alue")
	}},
}

func (f *fixture) mixed(times int) {
	f.Helper()
	var sets, gets, ops []kv.Op
	for i := range times {
		for _, kind := range []string{"get", "swap", "delete", "drop", "append", "incr"} {
			sets = append(sets, kv.OpSet(fmt.Sprint(kind, i), []byte("7")))
		}
		gets = append(gets, kv.OpGet(fmt.Sprint("swap", i)), kv.OpGet(fmt.Sprint("drop", i)))
	}
	f.do(sets...)
	f.do(gets...)
	var wants []kv.Result
	want := func(op kv.Op, r kv.Result) { ops, wants = append(ops, op), append(wants, r) }
	for i := range times {
		key := func(kind string) string { return fmt.Sprint(kind, i) }
		want(kv.OpGet(key("get")), kv.Result{Value: []byte("7")})
		want(kv.OpSet(key("set"), []byte("s")), kv.Result{})
		want(kv.OpAdd(key("add"), []byte("a")), kv.Result{})
		want(kv.OpSwap(key("swap"), gets[2*i].Result.Version, []byte("w")), kv.Result{})
		want(kv.OpDelete(key("delete")), kv.Result{})
		want(kv.OpDrop(key("drop"), gets[2*i+1].Result.Version), kv.Result{})
		want(kv.OpAppend(key("append"), []byte("8")), kv.Result{})
		want(kv.OpIncrement(key("incr"), int64(i)), kv.Result{Number: int64(i) + 7})
	}
	f.wantResults(f.do(ops...), wants)
	for i := range times {
		f.holds(fmt.Sprint("append", i), "78")
		f.absent(fmt.Sprint("drop", i))
	}
}

func (f *fixture) manyGets(n int) {
	f.Helper()
	var sets, gets []kv.Op
	for i := range n {
		key := fmt.Sprint("k", i)
		if i%3 != 0 {
			sets = append(sets, kv.OpSet(key, fmt.Append(nil, i)))
		}
		gets = append(gets, kv.OpGet(key))
	}
	f.do(sets...)
	for i, op := range f.do(gets...) {
		if i%3 == 0 && !optest.EndsIn(op.Result.Err, kv.ErrNotFound) ||
			i%3 != 0 && (op.Result.Err != nil || string(op.Result.Value) != fmt.Sprint(i)) {
			f.Fatalf("%q is %s", op.Key, optest.ShowItem(op.Result))
		}
	}
}

// onlyWinner wants one op to have succeeded and the others to have failed with lost.
func (f *fixture) onlyWinner(ops []kv.Op, lost error) int {
	f.Helper()
	winner := -1
	for i, op := range ops {
		switch {
		case op.Result.Err == nil && winner < 0:
			winner = i
		case !optest.EndsIn(op.Result.Err, lost):
			f.Errorf("op %d, %s, ended in %v though op %d succeeded", i, optest.Show(op), op.Result.Err, winner)
		}
	}
	if winner < 0 {
		f.Fatalf("none of the %d ops succeeded", len(ops))
	}
	return winner
}

func (f *fixture) oneToN(got []int64, n int64) {
	f.Helper()
	want := make([]int64, n)
	for i := range want {
		want[i] = int64(i) + 1
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		f.Errorf("sums mismatch (-want +got):\n%.2000s", diff)
	}
}

var contextCases = []Case{
	{"context/canceled", "under a canceled context nothing is sent: every op is ErrUnavailable and wraps context.Canceled", 0, func(f *fixture) {
		f.unsent(f.canceled(), context.Canceled)
	}},
	{"context/expired", "past its deadline nothing is sent: every op is ErrUnavailable and wraps context.DeadlineExceeded", 0, func(f *fixture) {
		ctx, cancel := context.WithDeadline(f.ctx, time.Now().Add(-time.Second))
		defer cancel()
		f.unsent(ctx, context.DeadlineExceeded)
	}},
	{"context/refused-first", "what would be refused anyway keeps its own error under a canceled context", 0, func(f *fixture) {
		ops := []kv.Op{kv.OpGet("a b"), kv.OpGet("k"), kv.OpDrop("k", 0)}
		if err := f.try(f.canceled(), f.store, ops); !errors.Is(err, context.Canceled) {
			f.Errorf("Do returned %v, want it to wrap context.Canceled", err)
		}
		for i, want := range []error{kv.ErrBadKey, kv.ErrUnavailable, kv.ErrBadOp} {
			f.ended(ops[i], want)
		}
	}},
	{"context/well-afterwards", "a canceled trip does not harm the next one", 0, func(f *fixture) {
		for i := range 20 {
			_ = f.try(f.canceled(), f.store, []kv.Op{kv.OpSet("k", []byte("bad"))})
			want := fmt.Sprint(i)
			f.ok(kv.OpSet("k", []byte(want)))
			f.holds("k", want)
		}
	}},
	{"context/canceled-under-way", "a write whose context ends under way is done, or not, or ErrUnclear, and never done twice", 0, func(f *fixture) {
		f.cancelUnderWay()
	}},
}

func (f *fixture) unsent(ctx context.Context, reason error) {
	f.Helper()
	v := f.put("k", "7")
	ops := everyKind(v)
	if err := f.try(ctx, f.store, ops); !errors.Is(err, reason) {
		f.Errorf("Do returned %v, want it to wrap %v", err, reason)
	}
	for _, op := range ops {
		if !optest.EndsIn(op.Result.Err, kv.ErrUnavailable) || !errors.Is(op.Result.Err, reason) {
			f.Errorf("%s ended in %v, want ErrUnavailable that wraps %v", optest.Show(op), op.Result.Err, reason)
		}
	}
	f.holds("k", "7")
	f.absent("new")
	if f.version("k") != v {
		f.Errorf("the version changed")
	}
}

// The sum must lie between the number of certain increments and that plus the unclear ones.
func (f *fixture) cancelUnderWay() {
	f.Helper()
	f.ok(kv.OpSet("k", []byte("0")))
	var done, unclear int64
	for i := range 100 {
		ctx, cancel := context.WithTimeout(f.ctx, time.Duration(i)*10*time.Microsecond)
		ops := []kv.Op{kv.OpIncrement("k", 1)}
		_ = f.try(ctx, f.store, ops)
		cancel()
		switch err := ops[0].Result.Err; {
		case err == nil:
			done++
		case optest.EndsIn(err, kv.ErrUnclear) && errors.Is(err, context.DeadlineExceeded):
			unclear++
		case !optest.EndsIn(err, kv.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded):
			f.Fatalf("the increment ended in %v, want ErrUnavailable or ErrUnclear that wraps context.DeadlineExceeded", err)
		}
	}
	sum := f.answer(kv.OpIncrement("k", 0), nil).Number
	if sum < done || sum > done+unclear {
		f.Errorf("the sum is %d after %d increments that were done and %d unclear ones", sum, done, unclear)
	}
}
