package main

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// sample is two groups, of which one holds a figure that is short and one that
// cannot be measured.
var sample = []group{
	{name: "good", measure: []func(*bench) error{func(b *bench) error {
		b.report("trips", 2, exactly(2))
		b.report("speed", 1.234, atLeast(0.9).ratio())
		return nil
	}}},
	{name: "bad", measure: []func(*bench) error{
		func(b *bench) error { b.report("keys", float64(b.size(5)), atMost(4)); return nil },
		func(b *bench) error { return errors.New("no server") },
	}},
}

func TestRun_PrintsALineForEachFigureAndFailsIfOneIsShort(t *testing.T) {
	var out strings.Builder
	err := run(t.Context(), nil, &out, sample)
	if err == nil || err.Error() != "2 of 4 figures are short" {
		t.Errorf("want an error that counts the short ones, got %v", err)
	}
	var got [][]string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.Fields(line))
	}
	want := [][]string{
		{"trips", "2", "=", "2", "ok"},
		{"speed", "1.23x", ">=", "0.9x", "ok"},
		{"keys", "5", "<=", "4", "SHORT"},
		{"bad", "not", "measured:", "no", "server", "-", "SHORT"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines mismatch (-want +got):\n%s", diff)
	}
}

func TestRun_OnlyMeasuresThatGroupWithThatSize(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), []string{"-only", "good"}, &out, sample); err != nil {
		t.Error(err)
	}
	if strings.Contains(out.String(), "keys") {
		t.Errorf("want group good alone, got:\n%s", out.String())
	}
	out.Reset()
	if err := run(t.Context(), []string{"-only", "bad", "-n", "3"}, &out, sample); err == nil || err.Error() != "1 of 2 figures are short" {
		t.Errorf("want keys to be 3 and so not short, got %v:\n%s", err, out.String())
	}
}

func TestRun_BadArgumentsAreNamed(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"-only", "best"}, "-only best: there is no such group; there are: good, bad"},
		{[]string{"-n", "-1"}, "-n -1: it must not be negative"},
		{[]string{"good"}, `unexpected argument "good"`},
	} {
		err := run(t.Context(), test.args, io.Discard, sample)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: want an error that says %q, got %v", test.args, test.want, err)
		}
	}
}

func TestTarget_MetAtItsLimitAndNotPastIt(t *testing.T) {
	for _, test := range []struct {
		target target
		met    []float64
		missed []float64
	}{
		{exactly(2), []float64{2}, []float64{1, 3}},
		{atMost(2), []float64{0, 2}, []float64{2.01}},
		{atLeast(2), []float64{2, 9}, []float64{1.99}},
	} {
		for _, v := range test.met {
			if !test.target.met(v) {
				t.Errorf("%v is not %v", v, test.target)
			}
		}
		for _, v := range test.missed {
			if test.target.met(v) {
				t.Errorf("%v is %v", v, test.target)
			}
		}
	}
}

func TestCompare_SaysHowMuchFasterOursIs(t *testing.T) {
	nap := func(d time.Duration) func() error { return func() error { time.Sleep(d); return nil } }
	faster, err := compare(nap(time.Millisecond), nap(4*time.Millisecond))
	if err != nil || faster < 1.5 {
		t.Errorf("want about 4, got %v, %v", faster, err)
	}
	slower, err := compare(nap(4*time.Millisecond), nap(time.Millisecond))
	if err != nil || slower > 0.67 {
		t.Errorf("want about 0.25, got %v, %v", slower, err)
	}
}

func TestCompare_ReturnsTheErrorOfEither(t *testing.T) {
	fine, broken := func() error { return nil }, func() error { return io.ErrUnexpectedEOF }
	if _, err := compare(fine, broken); err != io.ErrUnexpectedEOF {
		t.Errorf("theirs is broken, got %v", err)
	}
	if _, err := compare(broken, fine); err != io.ErrUnexpectedEOF {
		t.Errorf("ours is broken, got %v", err)
	}
}

func TestQuantile_IsTheValueThatThePartIsBelow(t *testing.T) {
	values := []int{5, 3, 1, 4, 2}
	got := []int{quantile(values, 0), median(values), quantile(values, 0.99)}
	if diff := cmp.Diff([]int{1, 3, 5}, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestOneFile_MeasuresWhatItCanInASecond(t *testing.T) {
	quick := group{name: "quick", measure: []func(*bench) error{
		fourItems, createCost, closedSize, slowestCommits, reopening,
	}}
	b := &bench{ctx: t.Context(), n: 40, dir: t.TempDir(), out: io.Discard}
	b.run(quick)
	for _, f := range b.figures {
		if f.err != nil {
			t.Error(f)
		}
	}
	if len(b.figures) != 10 {
		t.Errorf("want 10 figures, got %d", len(b.figures))
	}
}

func TestTogether_MakesEveryCallOnce(t *testing.T) {
	for _, clients := range []int{1, 3, 20} {
		var made [10]int // each written by one client
		err := together(clients, len(made), func(_, call int) error { made[call]++; return nil })
		if diff := cmp.Diff([10]int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, made); diff != "" || err != nil {
			t.Errorf("%d clients: %v, calls mismatch (-want +got):\n%s", clients, err, diff)
		}
	}
}

func TestCost_CountsTrips(t *testing.T) {
	b := &bench{ctx: t.Context()}
	s := kvmodel.Count(memkv.New(memkv.Options{}))
	cost, err := b.cost(func(ctx context.Context) error {
		_, err := kv.GetAll(ctx, s, "a", "b")
		return err
	})
	if diff := cmp.Diff(kvmodel.Cost{Trips: 1, Depth: 1, Ops: 2, Keys: 2}, cost); diff != "" || err != nil {
		t.Errorf("%v, cost mismatch (-want +got):\n%s", err, diff)
	}
}

func TestConduitLines_CountsWhatDeclaresAndWhatKeepsInStep(t *testing.T) {
	const source = `package a

import "time"

// User is one.
type User struct {
	ID string // its id

	Made time.Time
}

func (a *App) Register() error { return a.m.Users.Create(nil) }

func (a *App) Rename() {
	a.m.Users.Update(nil)
	a.m.Users.BySlug.Find(nil)
	a.m.Posts.Update(nil,
		nil)
	a.m.Posts.Views.Hit(nil)
}

func (a *App) start() {
	a.m.Posts.OnChange(func() {
		a.count()
	})
}
`
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "a.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	got := [2]int{codeLines(set, file), upkeepLines(set, file)}
	// Those are two lines of an Update, one of a Hit and three of a handler.
	if diff := cmp.Diff([2]int{17, 6}, got); diff != "" {
		t.Errorf("lines of code and of upkeep mismatch (-want +got):\n%s", diff)
	}
}

func TestCaseResults_CountsCasesAndNotWhatHoldsThem(t *testing.T) {
	events := `{"Action":"run","Package":"x/boltkv","Test":"TestStore_KeepsTheContract_OnTwo"}
{"Action":"pass","Package":"x/boltkv","Test":"TestStore_KeepsTheContract_OnTwo/get/absent"}
{"Action":"fail","Package":"x/boltkv","Test":"TestStore_KeepsTheContract_OnTwo/get/present"}
{"Action":"skip","Package":"x/boltkv","Test":"TestStore_KeepsTheContract_OnTwo/add"}
{"Action":"fail","Package":"x/boltkv","Test":"TestStore_KeepsTheContract_OnTwo/get"}
{"Action":"fail","Package":"x/boltkv","Test":"TestStore_KeepsTheContract_OnTwo"}
{"Action":"pass","Package":"x/memkv","Test":"TestStore_KeepsTheContract/set"}
{"Action":"fail","Package":"x/boltkv"}
`
	want := map[string]map[string]bool{
		"boltkv OnTwo": {"get/absent": true, "get/present": false, "add": false},
		"memkv":        {"set": true},
	}
	got, err := caseResults([]byte(events))
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, results mismatch (-want +got):\n%s", err, diff)
	}
}
