package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const marker = "format:ringtree"

func mark(t *testing.T, s kv.Store, text string) {
	t.Helper()
	proof.Done(t)(kv.One(t.Context(), s, kv.OpSet(marker, frame.Append(nil, []byte(text)))))
}

func marked(t *testing.T, s kv.Store) string {
	t.Helper()
	r, err := kv.One(t.Context(), s, kv.OpGet(marker))
	if errors.Is(err, kv.ErrNotFound) {
		return ""
	}
	must(t, err)
	text, _, err := frame.Next(r.Value)
	must(t, err)
	return string(text)
}

var verbs = map[string]func(context.Context, *process) error{
	"Get":      func(ctx context.Context, p *process) error { _, err := p.Get(ctx, "a"); return err },
	"GetMulti": func(ctx context.Context, p *process) error { _, err := p.GetMulti(ctx, []string{"a"}); return err },
	"Find":     func(ctx context.Context, p *process) error { _, err := p.byCode.Find(ctx, "c"); return err },
	"All": func(ctx context.Context, p *process) error {
		for _, err := range p.All(ctx) {
			return err
		}
		return nil
	},
	"Rebuild": func(ctx context.Context, p *process) error { return p.Rebuild(ctx) },
	"Repair":  func(ctx context.Context, p *process) error { return p.db.Repair(ctx) },
	"Accept":  func(ctx context.Context, p *process) error { _, err := p.db.Accept(ctx); return err },
	"Add": func(ctx context.Context, p *process) error {
		_, err := p.db.Tally("Note", "Views").Add(ctx, "a", 1)
		return err
	},
	"Store": func(ctx context.Context, p *process) error {
		set := kv.OpSet("k", nil)
		set.Result.Err = kv.ErrNotFound // of an earlier use
		return p.db.Store().Do(ctx, []kv.Op{set})
	},
}

func init() {
	for name, write := range writes {
		verbs[name] = func(ctx context.Context, p *process) error { return write(ctx, p.notes) }
	}
}

func contents(t *testing.T, mem *memkv.Store) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range mem.Keys() {
		r, err := kv.One(t.Context(), mem, kv.OpGet(key))
		must(t, err)
		all[key] = string(r.Value)
	}
	return all
}

func TestFormat_AStoreOfALaterOneIsNeitherReadNorWritten(t *testing.T) {
	for name, kind := range kinds {
		for verb, do := range verbs {
			t.Run(name+"/"+verb, func(t *testing.T) {
				inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
					first := start(t, kind(mem)).ends(t)
					must(t, first.Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
					must(t, first.db.Close(ctx))
					mark(t, mem, "2")
					before := contents(t, mem)
					p := start(t, kind(mem)).ends(t)
					for range 2 {
						err := do(ctx, p)
						wantErr(t, err, kvmodel.ErrUnknownFormat)
						wantErr(t, err, kvmodel.ErrUnavailable)
						for _, says := range []string{"format 2", "knows 1", "run a release", "docs/releases.md"} {
							proof.Contains(t, fmt.Sprint(err), says)
						}
					}
					must(t, p.db.Close(ctx))
					wantSame(t, before, contents(t, mem), "what is stored")
				})
			})
		}
	}
}

func TestFormat_AStoreWithoutAMarkerGetsOneWithTheFirstWriteOfManyProcesses(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		s = shared{s}
		older := start(t, s).ends(t)
		must(t, older.Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
		_, err := kv.One(ctx, s, kv.OpDelete(marker)) // lost
		must(t, err)
		p := start(t, s).ends(t)
		proof.Done(t)(p.byCode.Find(ctx, "c"))
		wantSame(t, "", marked(t, s), "the marker after reading")
		q := start(t, s).ends(t)
		proof.Done(t)(q.Get(ctx, "a"))
		must(t, p.Create(ctx, &note{ID: "b", Text: "x"}))
		must(t, q.Create(ctx, &note{ID: "c", Text: "x"}))
		wantSame(t, "1", marked(t, s), "the marker")
	})
}

func TestFormat_TheMarkerTakesNoTrip(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		for i, want := range [][]int{{10, 2, 1, 2}, {6, 2, 1, 2}} { // as without a marker
			p, reader := start(t, plain(mem)).ends(t), start(t, plain(mem)).ends(t)
			create := func(name string) int {
				n := &note{ID: fmt.Sprint(name, i), Text: "x", Code: fmt.Sprint(name, i)}
				return cost(t, ctx, func(ctx context.Context) error { return p.Create(ctx, n) }).Trips
			}
			got := []int{create("a"), create("b")}
			for _, verb := range []string{"Get", "Find"} {
				got = append(got, cost(t, ctx, func(ctx context.Context) error {
					if err := verbs[verb](ctx, reader); !errors.Is(err, kv.ErrNotFound) {
						return err
					}
					return nil
				}).Trips)
			}
			if !slices.Equal(got, want) {
				t.Errorf("process %d: the first create, the second, a get and a find took %v trips, want %v", i, got, want)
			}
		}
	})
}

func TestFormat_AMarkerThatAppearsBesideTheFirstWriteIsRead(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	p := start(t, plain(mem)).ends(t)
	proof.Ends(t, kv.ErrNotFound)(p.Get(ctx, "a"))
	mark(t, mem, "2")
	wantErr(t, p.Create(ctx, &note{ID: "a", Text: "x"}), kvmodel.ErrUnknownFormat)
}

func TestFormat_AProcessThatRunsLearnsOfALaterOneBeforeItWrites(t *testing.T) {
	for _, idle := range []time.Duration{30 * time.Second, 45 * time.Second, time.Hour} {
		for verb, do := range verbs {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				p := start(t, plain(mem)).ends(t)
				must(t, p.Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
				mark(t, mem, "2")
				wait(idle)
				before := keys(mem, "k", "n", "r")
				proof.Is(t, do(ctx, p), kvmodel.ErrUnknownFormat)
				wantSame(t, before, keys(mem, "k", "n", "r"), "%s after %v has written", verb, idle)
			})
		}
	}
}

func TestFormat_AProcessThatHasSleptReadsTheMarkerBeforeItWrites(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		db := open(t, plain(mem)) // without models, so it does nothing by itself
		set := func(key string) error {
			_, err := kv.One(ctx, db.Store(), kv.OpSet(key, nil))
			return err
		}
		must(t, set("first"))
		wait(29 * time.Second)
		must(t, set("second"))
		mark(t, mem, "2")
		wait(30 * time.Second)
		wantErr(t, set("third"), kvmodel.ErrUnknownFormat)
		wantLen(t, 0, keys(mem, "third"), "it has written")
		must(t, db.Close(ctx))
	})
}

func TestFormat_AnyWrongBitOfTheMarkerIsNamedAndRefusesNothing(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	must(t, start(t, shared{mem}).ends(t).Create(ctx, &note{ID: "a", Text: "x"}))
	stored, err := kv.One(ctx, mem, kv.OpGet(marker))
	must(t, err)
	for at := range 8 * len(stored.Value) {
		data := slices.Clone(stored.Value)
		data[at/8] ^= 1 << (at % 8)
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet(marker, data)))
		p := start(t, shared{mem}).ends(t)
		if _, err = p.Get(ctx, "a"); err != nil {
			t.Errorf("bit %d: %v", at, err)
		}
		damaged, ok := errors.AsType[*kvmodel.CorruptError](p.db.Repair(ctx))
		if !ok || !slices.Equal(damaged.Keys, []string{marker}) {
			t.Errorf("bit %d: Repair returns %v, want an ErrCorrupt that names %s", at, damaged, marker)
		}
	}
}

func TestFormat_WithADamagedMarkerNothingIsReadOrWrittenUntilAccept(t *testing.T) {
	for verb, do := range verbs {
		if verb == "Accept" {
			continue
		}
		eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
			s = shared{s}
			must(t, start(t, s).ends(t).Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
			mark(t, s, "one")
			p := start(t, s).ends(t)
			err := do(ctx, p)
			wantErr(t, err, kvmodel.ErrUnknownFormat)
			proof.Contains(t, fmt.Sprint(err), marker)
			proof.Done(t)(p.db.Accept(ctx))
			wantSame(t, "1", marked(t, s), "the marker")
			if err := do(ctx, p); kv.Failed(err) {
				t.Errorf("%s: %v", verb, err)
			}
		})
	}
}

func TestFormat_WhatStandsBehindTheNumberDoesNotCount(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	p := start(t, shared{mem}).ends(t)
	mark(t, mem, "1 of a later release")
	must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
	q := start(t, shared{mem}).ends(t)
	mark(t, mem, "2 of a later release")
	proof.Ends(t, kvmodel.ErrUnknownFormat)(q.Get(ctx, "a"))
}

func TestFormat_EachTenantHasAMarker(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	a := start(t, shared{mem}, kvmodel.Tenant("a")).ends(t)
	b := start(t, shared{mem}, kvmodel.Tenant("b")).ends(t)
	proof.Done(t)(kv.One(ctx, mem, kv.OpSet("a:"+marker, []byte("2"))))
	wantErr(t, a.Create(ctx, &note{ID: "a", Text: "x"}), kvmodel.ErrUnknownFormat)
	must(t, b.Create(ctx, &note{ID: "a", Text: "x"}))
}

func TestFormat_AReadOnlyDBLooksAndAddsNothing(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	p := start(t, shared{mem}, kvmodel.ReadOnly()).ends(t)
	proof.Ends(t, kv.ErrNotFound)(p.Get(ctx, "a"))
	wantErr(t, p.Create(ctx, &note{ID: "a", Text: "x"}), kvmodel.ErrReadOnly)
	wantLen(t, 0, mem.Keys(), "it has written")
	mark(t, mem, "2")
	proof.Ends(t, kvmodel.ErrUnknownFormat)(start(t, shared{mem}, kvmodel.ReadOnly()).ends(t).Get(ctx, "a"))
}

func TestFormat_AMarkerThatCannotBeAskedForHindersNoOne(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	away := tamper(plain(mem), func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		err := next(ops)
		for i := range ops {
			if ops[i].Key == marker {
				ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
				err = kv.Unanswered(ops)
			}
		}
		return err
	})
	p := start(t, away).ends(t)
	must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
	proof.Done(t)(p.Get(ctx, "a"))
	mark(t, mem, "2")
	away.set(nil)
	proof.Ends(t, kvmodel.ErrUnknownFormat)(p.Get(ctx, "a"))
}

func TestFormat_AMarkerThatIsNotCommittedIsAddedByTheNextChange(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	p := start(t, shared{mem}).ends(t)
	failed := errors.New("not now")
	err := kv.PowersOf(p.db.Store()).Atomic(ctx, func(s kv.Store) error {
		_, err := kv.One(ctx, s, kv.OpSet("k", nil))
		return errors.Join(err, failed)
	})
	wantErr(t, err, failed)
	wantLen(t, 0, mem.Keys(), "it has written")
	must(t, p.Create(ctx, &note{ID: "a", Text: "x"}))
	wantSame(t, "1", marked(t, mem), "the marker")
}
