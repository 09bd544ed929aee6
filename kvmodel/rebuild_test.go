package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type release struct {
	*notes
	db *kvmodel.DB
	by map[string]*index.Unique[note, string]
}

func deploy(t *testing.T, s kv.Store, indexes ...string) *release {
	t.Helper()
	return plugged(open(t, s), indexes...)
}

func plugged(db *kvmodel.DB, indexes ...string) *release {
	v := &release{notes: kvmodel.NewRecords(db, noteSchema()), db: db, by: map[string]*index.Unique[note, string]{}}
	for _, name := range indexes {
		field, def, _ := strings.Cut(name, "/")
		v.by[name] = index.NewUnique(v.notes, kvmodel.IndexSpec[note, string]{
			Name: "By" + field, Def: def, Fields: []string{field}, Key: kvmodel.StringKey[string](),
			Values: func(n *note) []string {
				if field == "Code" {
					return []string{n.Code}
				}
				return []string{n.Text}
			},
		})
	}
	return v
}

func (v *release) undeploy(t *testing.T) {
	t.Helper()
	must(t, v.db.Close(t.Context()))
}

// finds fails unless the index name finds the note by value.
func (v *release) finds(t *testing.T, name, value, id string) {
	t.Helper()
	got, err := v.by[name].Find(t.Context(), value)
	if err != nil || got.ID != id {
		t.Errorf("%s of %q is %v, %v; want %s", name, value, got, err, id)
	}
}

func (v *release) needsRebuild(t *testing.T, name string) {
	t.Helper()
	_, err := v.by[name].Find(t.Context(), "anything")
	wantErr(t, err, kvmodel.ErrNeedsRebuild)
	if err != nil && !strings.Contains(err.Error(), "Note.By") {
		t.Errorf("error %q does not name the index", err)
	}
}

func TestRebuild_BesideWritersHoldsEveryRecord(t *testing.T) {
	ctx := t.Context()
	s := shared{plain(memkv.New(memkv.Options{}))}
	v := deploy(t, s)
	const n = 300
	for i := range n {
		must(t, v.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x", Code: fmt.Sprint("c", i)}))
	}
	v.undeploy(t)
	a, b := deploy(t, s, "Code"), deploy(t, s, "Code")
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := w; i < n; i += 4 {
				_, err := b.Update(ctx, fmt.Sprint(i), func(n *note) error { n.Code += "'"; return nil })
				proof.Is(t, err, nil)
			}
		})
	}
	// Both rebuild at the same time.
	wait.Go(func() { must(t, b.Rebuild(ctx)) })
	must(t, a.Rebuild(ctx))
	wait.Wait()
	must(t, a.db.Flush(ctx))
	must(t, b.db.Flush(ctx))
	for i := range n {
		a.finds(t, "Code", fmt.Sprint("c", i, "'"), fmt.Sprint(i))
	}
	a.undeploy(t)
	b.undeploy(t)
}

// moving is a store that changes a record just before its claim is added.
type moving struct {
	kv.Store
	claim  string
	change proof.Hook
}

func (m *moving) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		if op.Kind == kv.Add && op.Key == m.claim {
			m.change.Run()
		}
	}
	return m.Store.Do(ctx, ops)
}

func TestBuild_ARecordThatMovesWhileItIsEnteredLeavesNothingBehind(t *testing.T) {
	ctx, s := t.Context(), shared{plain(memkv.New(memkv.Options{}))}
	v := deploy(t, s)
	for i := range 3 {
		must(t, v.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x", Code: fmt.Sprint("c", i)}))
	}
	v.undeploy(t)
	app := deploy(t, s, "Code")
	for what, change := range map[string]func() error{
		"u:Note:ByCode:c1": func() error {
			_, err := app.Update(ctx, "1", func(n *note) error { n.Code = "moved"; return nil })
			return err
		},
		"u:Note:ByCode:c2": func() error { return app.Delete(ctx, "2") },
	} {
		on := &moving{Store: s.Store, claim: what}
		on.change.Set(func() {
			must(t, change())
			must(t, app.db.Flush(ctx))
		})
		b := deploy(t, shared{on}, "Code")
		must(t, b.Rebuild(ctx))
		b.undeploy(t)
		if r, err := kv.One(ctx, s, kv.OpGet(what)); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("%s: %q, %v", what, r.Value, err)
		}
	}
	app.finds(t, "Code", "moved", "1")
	app.undeploy(t)
}

// manyInTime runs f on a shared store, without transactions and with them, under a fake clock.
func manyInTime(t *testing.T, f func(t *testing.T, ctx context.Context, s kv.Store)) {
	for _, name := range []string{"plain", "atomic"} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) { f(t, ctx, shared{kinds[name](mem)}) })
		})
	}
}

func TestRebuild_WaitsForAProcessThatWritesWithoutTheIndex(t *testing.T) {
	manyInTime(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		old := deploy(t, s)
		must(t, old.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		next := deploy(t, s, "Code")
		done := make(chan error)
		go func() { done <- next.Rebuild(ctx) }()
		for i := range 20 {
			time.Sleep(time.Second)
			must(t, old.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x", Code: fmt.Sprint("c", i)}))
			select {
			case err := <-done:
				t.Fatalf("the rebuild has ended beside a writer of the old release: %v", err)
			default:
			}
		}
		old.undeploy(t)
		begin := time.Now()
		must(t, <-done)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("it went on after %v", took)
		}
		next.finds(t, "Code", "c19", "19")
		next.undeploy(t)
	})
}

func TestRebuild_RefusesBesideAProcessThatKeepsWritingWithoutTheIndex(t *testing.T) {
	manyInTime(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		old := deploy(t, s)
		must(t, old.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		next := deploy(t, s, "Code")
		done := make(chan error)
		go func() { done <- next.Rebuild(ctx) }()
		var err error
		begin := time.Now()
		for i := 0; err == nil && i < 600; i++ {
			time.Sleep(time.Second)
			must(t, old.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x", Code: fmt.Sprint("c", i)}))
			select {
			case err = <-done:
			default:
			}
		}
		wantErr(t, err, kvmodel.ErrNeedsRebuild)
		t.Logf("after %v: %v", time.Since(begin), err)
		next.needsRebuild(t, "Code")
		old.undeploy(t)
		must(t, next.Rebuild(ctx))
		next.undeploy(t)
	})
}

func TestRebuild_DoesNotWaitForTheDead(t *testing.T) {
	manyInTime(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		life := &mortal{Store: s}
		dead := deploy(t, life)
		must(t, dead.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		life.kill()
		next := deploy(t, s, "Code")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "ca", "a")
		next.undeploy(t)
		_ = dead.db.Close(ctx)
	})
}

func TestBuilt_TheItemIsMadeOnceByMany(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		var releases []*release
		for range 4 {
			releases = append(releases, deploy(t, shared{s}, "Code", "Text"))
		}
		var wait sync.WaitGroup
		for i := range 32 {
			wait.Go(func() {
				must(t, releases[i%4].Create(ctx, &note{ID: fmt.Sprint(i), Text: fmt.Sprint("t", i), Code: fmt.Sprint("c", i)}))
			})
		}
		wait.Wait()
		r, err := kv.One(ctx, s, kv.OpGet("built:Note"))
		must(t, err)
		data, err := frame.Either(r.Value)
		must(t, err)
		begun, defs := string(data[:7]), string(data[7:])
		if diff := cmp.Diff("\rByCode= whole\rByText= whole", defs); diff != "" || begun != "\x06#begun" {
			t.Errorf("built begins with %q, and then (-want +got)\n%s", begun, diff)
		}
		for _, v := range releases {
			v.undeploy(t)
		}
	})
}

func TestForget_ADeletionTakesTheHistoryAlong(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newArticles(closing(t, open(t, s)), 50, true)
		for _, text := range []string{"one", "two"} {
			must(t, as.write(ctx, "a", text))
		}
		must(t, as.Delete(ctx, "a"))
		must(t, as.db.Flush(ctx))
		if r, err := kv.One(ctx, storeOf(s), kv.OpGet("h:Article:a")); err == nil {
			t.Errorf("a history of %d bytes is left", len(r.Value))
		}
		proof.Ends(t, kv.ErrNotFound)(as.History.Restore(ctx, "a", 2))
		must(t, as.write(ctx, "a", "new"))
		wantSame(t, []string{"4 new"}, textsOf(t, ctx, as, "a", 10), "of the record that was made again")
	})
}

// The record is made again, and its first body is in the history, before the history of
// the one that was deleted goes.
func TestForget_WhatIsMadeAgainKeepsItsHistory(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newArticles(closing(t, open(t, s)), 50, true)
		for i := range 20 {
			id := fmt.Sprint("a", i)
			must(t, as.write(ctx, id, "old"))
			must(t, as.Delete(ctx, id))
			must(t, as.write(ctx, id, "new")) // A4 of the deletion is under way.
			must(t, as.db.Flush(ctx))
			if got := textsOf(t, ctx, as, id, 1); !slices.Equal(got, []string{"3 new"}) {
				t.Errorf("the history is %q", got)
			}
		}
	})
}
