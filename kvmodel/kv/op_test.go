package kv_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var ctx = context.Background()

// errDown is the error of an op that was not carried out.
var errDown = fmt.Errorf("backend: %w: connection refused", kv.ErrUnavailable)

// errMute is the error of a write that got no answer.
var errMute = fmt.Errorf("backend: %w: time-out", kv.ErrUnclear)

// rig is a memory store whose trips a test can inspect and disturb.
type rig struct {
	*memkv.Store
	trips  [][]kv.Op                // in order
	before func(trip int)           // runs before each trip, numbered from 1
	fail   func(trip, op int) error // returns an error to fail the op
}

func newRig() *rig { return &rig{Store: memkv.New(memkv.Options{})} }

func (r *rig) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, r.Store.Powers()) == 0 {
		return nil
	}
	r.trips = append(r.trips, append([]kv.Op{}, ops...))
	trip := len(r.trips)
	if r.before != nil {
		r.before(trip)
	}
	for i := range ops {
		if r.fail != nil {
			if err := r.fail(trip, i); err != nil {
				ops[i].Result = kv.Result{Err: err}
				continue
			}
		}
		_ = r.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

// put stores value under key without a trip of the rig.
func (r *rig) put(key, value string) {
	_, _ = kv.One(ctx, r.Store, kv.OpSet(key, []byte(value)))
}

// holds asserts that key has that value.
func (r *rig) holds(t *testing.T, key, want string) {
	t.Helper()
	got, err := kv.One(ctx, r.Store, kv.OpGet(key))
	if err != nil || string(got.Value) != want {
		t.Errorf("%q holds %q (%v), want %q", key, got.Value, err, want)
	}
}

func TestOne_ReturnsResultAndErrorThatNamesTheOp(t *testing.T) {
	r := newRig()
	r.put("k", "v")
	if got, err := kv.One(ctx, r, kv.OpGet("k")); err != nil || string(got.Value) != "v" || got.Version == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err := kv.One(ctx, r, kv.OpAdd("k", nil))
	var named *kv.OpError
	if !errors.Is(err, kv.ErrExists) || !errors.As(err, &named) || named.Kind != kv.Add || named.Key != "k" {
		t.Errorf("got %v", err)
	}
	if want := `add "k": already exists`; err.Error() != want {
		t.Errorf("the error reads %q, want %q", err, want)
	}
}

func TestOpError_IsOneLineAndNotTooLong(t *testing.T) {
	op := kv.Op{Kind: kv.Set, Key: strings.Repeat("a\n", 10_000), Result: kv.Result{Err: kv.ErrBadKey}}
	text := op.Err().Error()
	if strings.Contains(text, "\n") || len(text) > 500 || !strings.HasPrefix(text, `set "a\na\n`) || !strings.HasSuffix(text, `...": bad key`) {
		t.Errorf("the error reads %q", text)
	}
}

func TestOp_Err_IsNilWithoutAnError(t *testing.T) {
	op := kv.OpGet("k")
	proof.Is(t, op.Err(), nil)
}

func TestKind_String_IsTheWordOfTracesAndErrors(t *testing.T) {
	want := []string{"unknown", "get", "set", "add", "cas", "delete", "cdel", "append", "incr", "unknown", "unknown"}
	var got []string
	for _, kind := range []kv.Kind{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 255} {
		got = append(got, kind.String())
	}
	proof.NoDiff(t, cmp.Diff(want, got), "words")
}

func TestKind_Writes_AllButGet(t *testing.T) {
	for kind := kv.Get; kind <= kv.Increment; kind++ {
		proof.Equal(t, kind.Writes(), (kind != kv.Get), "%v writes", kind)
	}
}

func TestGetAll_IsOneTripInTheOrderOfItsKeys(t *testing.T) {
	r := newRig()
	r.put("a", "1")
	r.put("c", "3")
	results, err := kv.GetAll(ctx, r, "c", "b", "a", "c")
	must(t, err)
	var got []string
	for _, result := range results {
		if errors.Is(result.Err, kv.ErrNotFound) {
			got = append(got, "absent")
			continue
		}
		got = append(got, string(result.Value))
	}
	proof.NoDiff(t, cmp.Diff([]string{"3", "absent", "1", "3"}, got), "values")
	proof.Equal(t, len(r.trips), 1, "trips")
}

func TestGetAll_WhatCouldNotBeAskedIsNoAbsence(t *testing.T) {
	r := newRig()
	r.put("b", "2")
	r.fail = func(_, op int) error {
		if op == 0 {
			return errDown
		}
		return nil
	}
	results, err := kv.GetAll(ctx, r, "a", "b")
	if !errors.Is(err, kv.ErrUnavailable) || err.Error() != `get "a": backend: store unavailable: connection refused` {
		t.Errorf("got the error %v", err)
	}
	if !errors.Is(results[0].Err, kv.ErrUnavailable) || errors.Is(results[0].Err, kv.ErrNotFound) || string(results[1].Value) != "2" {
		t.Errorf("got %+v", results)
	}
}

func TestNext_CountsFromTheFirst(t *testing.T) {
	r := newRig()
	for i, want := range []int64{11, 12, 13} {
		got, err := kv.Next(ctx, r, "n", 10, 1)
		if err != nil || got != want {
			t.Errorf("call %d: %d, %v, want %d", i, got, err, want)
		}
	}
	proof.Equal(t, len(r.trips), 3+2, "trips")
}

func TestNext_LosesNothingToOneWhoCreatesTheKeyFirst(t *testing.T) {
	r := newRig()
	r.before = func(trip int) {
		if trip == 2 {
			r.put("n", "100")
		}
	}
	if got, err := kv.Next(ctx, r, "n", 10, 1); err != nil || got != 101 {
		t.Errorf("got %d, %v, want 101", got, err)
	}
}

func TestNext_FailuresComeThrough(t *testing.T) {
	for failing := 1; failing <= 3; failing++ {
		for _, want := range []error{errDown, errMute} {
			r := newRig()
			r.fail = func(trip, _ int) error {
				if trip == failing {
					return want
				}
				return nil
			}
			if got, err := kv.Next(ctx, r, "n", 10, 1); !errors.Is(err, want) || len(r.trips) != failing {
				t.Errorf("trip %d failed with %v; got %d, %v after %d trips", failing, want, got, err, len(r.trips))
			}
		}
	}
	r := newRig()
	r.put("n", "word")
	proof.Ends(t, kv.ErrNotNumber)(kv.Next(ctx, r, "n", 0, 1))
}

func TestParseNumber_TakesDigitsUpToTheLargest(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "7": 7, "007": 7, "4611686018427387904": kv.MaxNumber} {
		if got, err := kv.ParseNumber([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "1_000", "4611686018427387905", "18446744073709551616", "١"} {
		got, err := kv.ParseNumber([]byte(text))
		if !errors.Is(err, kv.ErrNotNumber) || got != 0 || !strings.Contains(err.Error(), fmt.Sprintf("%q", text)) {
			t.Errorf("%q: %d, %v, want ErrNotNumber that shows it", text, got, err)
		}
	}
	if _, err := kv.ParseNumber(make([]byte, 1<<20)); len(err.Error()) > 300 {
		t.Errorf("the error for a large value has %d bytes", len(err.Error()))
	}
}

func TestCheck_RefusesWhatBreaksALimitAndSaysWhy(t *testing.T) {
	unless := kv.OpAppend("k", nil)
	unless.Unless = []byte("x")
	misplaced := kv.OpSet("k", nil)
	misplaced.Unless = []byte("x")
	for _, c := range []struct {
		op   kv.Op
		want error
		text string
	}{
		{kv.OpGet(""), kv.ErrBadKey, "bad key: it is empty"},
		{kv.OpSet("k", make([]byte, kv.MaxValue+1)), kv.ErrTooLarge, "value too large: 1040385 bytes, at most 1040384"},
		{kv.Op{Key: "k"}, kv.ErrBadOp, "bad operation: unknown kind 0"},
		{kv.Op{Key: "k", Kind: 9}, kv.ErrBadOp, "bad operation: unknown kind 9"},
		{kv.OpSet("k", nil).For(-1), kv.ErrBadOp, "bad operation: TTL -1ns is not in 0..43800h0m0s"},
		{kv.OpSet("k", nil).For(kv.MaxTTL + 1), kv.ErrBadOp, "bad operation: TTL 43800h0m0.000000001s is not in 0..43800h0m0s"},
		{kv.OpGet("k").For(time.Hour), kv.ErrBadOp, "bad operation: get takes no TTL"},
		{kv.OpSwap("k", 0, nil), kv.ErrBadOp, "bad operation: cas needs a version from a get"},
		{kv.OpDrop("k", 0), kv.ErrBadOp, "bad operation: cdel needs a version from a get"},
		{kv.OpIncrement("k", math.MinInt64), kv.ErrBadOp, "bad operation: delta -9223372036854775808 is not in ±4611686018427387904"},
		{misplaced, kv.ErrBadOp, "bad operation: set takes no Unless"},
		{kv.Op{Key: "k", Kind: kv.Set, Chain: 1}, kv.ErrBadOp, "bad operation: this store does not keep the order of ops, so they cannot be a chain"},
		{unless, kv.ErrBadOp, "bad operation: this store cannot append unless sealed"},
	} {
		ops := []kv.Op{c.op}
		if n := kv.Check(ops, kv.Powers{}); n != 0 || !errors.Is(ops[0].Result.Err, c.want) || ops[0].Result.Err.Error() != c.text {
			t.Errorf("%v %.20q: %d good, %v, want %q", c.op.Kind, c.op.Key, n, ops[0].Result.Err, c.text)
		}
		if kv.Unanswered(ops) != nil {
			t.Errorf("%q counts as unanswered", c.text)
		}
	}
}

func TestCheck_CountsTheGoodAndEmptiesResults(t *testing.T) {
	old := kv.Result{Value: []byte("old"), Version: 1, Number: 1, Err: kv.ErrLost}
	ops := []kv.Op{kv.OpGet("a"), kv.OpGet(""), kv.OpAppend("b", nil)}
	ops[2].Unless = []byte("x")
	for i := range ops {
		ops[i].Result = old
	}
	proof.Equal(t, kv.Check(ops, kv.Powers{Unless: true}), 2, "good ops")
	for i := range ops {
		if r := ops[i].Result; r.Value != nil || r.Version != 0 || r.Number != 0 || errors.Is(r.Err, kv.ErrLost) {
			t.Errorf("op %d has %+v", i, r)
		}
	}
}

func TestFail_LeavesTheRefusedAsTheyAre(t *testing.T) {
	ops := []kv.Op{kv.OpGet(""), kv.OpGet("a"), kv.OpSet("b", nil)}
	kv.Check(ops, kv.Powers{})
	err := kv.Fail(ops, errDown)
	if !errors.Is(ops[0].Result.Err, kv.ErrBadKey) || ops[1].Result.Err != errDown || ops[2].Result.Err != errDown {
		t.Errorf("results: %v, %v, %v", ops[0].Result.Err, ops[1].Result.Err, ops[2].Result.Err)
	}
	if !errors.Is(err, errDown) || !strings.HasPrefix(err.Error(), `get "a": `) {
		t.Errorf("got %v, want the first that failed", err)
	}
}

func TestFailed_TellsFailuresFromAnswers(t *testing.T) {
	for _, err := range []error{kv.ErrUnavailable, kv.ErrUnclear, kv.ErrLost, errDown, errMute} {
		if !kv.Failed(err) {
			t.Errorf("%v is not taken for a failure", err)
		}
	}
	for _, err := range []error{
		nil, kv.ErrNotFound, kv.ErrExists, kv.ErrConflict, kv.ErrNotStored, kv.ErrSealed, kv.ErrNotNumber,
		kv.ErrBadKey, kv.ErrTooLarge, kv.ErrBadOp,
	} {
		if kv.Failed(err) {
			t.Errorf("%v is taken for a failure", err)
		}
	}
}

// Once an attempt was unclear, the write may be carried out at any time, whatever the next attempt
// returns.
func TestRepeated_OnceATryWasUnclearTheAnswerIsNilOrErrUnclear(t *testing.T) {
	writes := map[string]func(s kv.Store) error{
		"AppendSurely": func(s kv.Store) error { return kv.AppendSurely(ctx, s, "a", []byte("x")) },
		"Change": func(s kv.Store) error {
			return kv.Change("a", func() error { _, err := kv.One(ctx, s, kv.OpSet("a", []byte("x"))); return err })
		},
	}
	ended := fmt.Errorf("%w: %w", kv.ErrUnavailable, context.DeadlineExceeded)
	for name, write := range writes {
		for _, last := range []error{nil, ended, kv.ErrConflict, kv.ErrNotStored, kv.ErrTooLarge, kv.ErrLost, errMute} {
			for _, first := range []error{errMute, nil} {
				t.Run(fmt.Sprint(name, " ", first, " ", last), func(t *testing.T) {
					r := newRig()
					r.put("a", "")
					r.fail = func(trip, _ int) error {
						if trip == 1 && first != nil {
							return first
						}
						return last
					}
					err := write(r)
					switch {
					case last == nil:
						if err != nil {
							t.Errorf("%v, want nil", err)
						}
					case first == nil:
						proof.Is(t, err, last)
					case !errors.Is(err, kv.ErrUnclear):
						t.Errorf("%v, want an ErrUnclear", err)
					case last != errMute && errors.Is(err, last) || errors.Is(err, context.DeadlineExceeded):
						t.Errorf("%v is %v, too", err, last)
					}
				})
			}
		}
	}
}
