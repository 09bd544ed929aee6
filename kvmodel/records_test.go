package kvmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var errOfMine = errors.New("of mine")

func eachNotes(t *testing.T, schema kvmodel.Schema[note, string], f func(t *testing.T, ctx context.Context, r *notes, s kv.Store)) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		f(t, ctx, kvmodel.NewRecords(closing(t, open(t, s)), schema), s)
	})
}

func TestRecords_Create_GivesAnIDAndStoresWhatGetReturns(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		begin := time.Now().UTC()
		v := &note{Text: "hello", Version: 77, Updated: time.Unix(2, 0)}
		must(t, r.Create(ctx, v))
		if len(v.ID) != 26 || v.Version != 1 || v.Created.Before(begin) || !v.Updated.Equal(v.Created) {
			t.Errorf("created %+v, want an id, version 1, and the times of now", v)
		}
		got, err := r.Get(ctx, v.ID)
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(v, got), "got")
	})
}

func TestRecords_ATimeOfCreationThatWasSetStays(t *testing.T) {
	long := time.Date(1999, 5, 1, 12, 0, 0, 7, time.UTC)
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		for verb, make := range map[string]func(*note) error{
			"Create":      func(n *note) error { return r.Create(ctx, n) },
			"CreateMulti": func(n *note) error { return r.CreateMulti(ctx, []*note{n}) },
			"Put":         func(n *note) error { return r.Put(ctx, n) },
			"PutMulti":    func(n *note) error { return r.PutMulti(ctx, []*note{n}) },
			"Upsert": func(n *note) error {
				_, err := r.Upsert(ctx, n.ID, func(was *note) error { *was = *n; return nil })
				return err
			},
		} {
			begin := time.Now()
			must(t, make(&note{ID: verb, Text: "imported", Created: long}))
			must(t, make(&note{ID: verb + " now", Text: "new"}))
			proof.Done(t)(r.Update(ctx, verb, func(n *note) error { n.Text, n.Created = "changed", time.Now(); return nil }))
			if got, err := r.Get(ctx, verb); err != nil || !got.Created.Equal(long) || got.Updated.Before(begin) {
				t.Errorf("%s: %+v, %v; want what was created at %v and updated now", verb, got, err, long)
			}
			if got, err := r.Get(ctx, verb+" now"); err != nil || got.Created.Before(begin) || !got.Created.Equal(got.Updated) {
				t.Errorf("%s: %+v, %v; want what was created now", verb, got, err)
			}
		}
	})
}

func TestRecords_Create_OfAnIDInUseIsErrExistsAndChangesNothing(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Create(ctx, &note{ID: "a", Text: "first"}))
		err := r.Create(ctx, &note{ID: "a", Text: "second"})
		wantErr(t, err, kv.ErrExists)
		if want := `Note "a": already exists`; err != nil && err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		wantText(t, ctx, r, "a", "first")
	})
}

func TestRecords_Get_AbsentIsNotFoundAndAFailureIsNot(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		m := &mortal{Store: s}
		r := kvmodel.NewRecords(open(t, m), noteSchema())
		_, err := r.Get(ctx, "nobody")
		wantErr(t, err, kv.ErrNotFound)
		_, err = r.Get(ctx, "")
		wantErr(t, err, kv.ErrNotFound)
		m.kill()
		_, err = r.Get(ctx, "nobody")
		wantErr(t, err, kv.ErrUnavailable)
		if errors.Is(err, kv.ErrNotFound) {
			t.Errorf("a failure is taken for absence: %v", err)
		}
		if err != nil && !strings.Contains(err.Error(), `Note "nobody"`) {
			t.Errorf("error %q does not name the record", err)
		}
	})
}

func TestRecords_GetMulti_KeepsTheOrderWithNilAtAbsentPlaces(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Create(ctx, &note{ID: "a", Text: "A"}))
		must(t, r.Create(ctx, &note{ID: "b", Text: "B"}))
		must(t, r.Create(ctx, &note{ID: "c", Text: "C"}))
		must(t, r.Delete(ctx, "c"))
		vs, err := r.GetMulti(ctx, []string{"b", "x", "a", "c", "b"})
		must(t, err)
		var got []string
		for _, v := range vs {
			if v == nil {
				got = append(got, "-")
			} else {
				got = append(got, v.Text)
			}
		}
		wantSame(t, []string{"B", "-", "A", "-", "B"}, got, "records")
		if vs, err := r.GetMulti(ctx, nil); err != nil || len(vs) != 0 {
			t.Errorf("none asked for: got %v, %v", vs, err)
		}
	})
}

func TestRecords_GetMulti_AKeyThatCouldNotBeAskedForIsAnError(t *testing.T) {
	ctx := t.Context()
	s := tamper(plain(memkv.New(memkv.Options{})), nil)
	r := kvmodel.NewRecords(closing(t, open(t, s)), noteSchema())
	must(t, r.Create(ctx, &note{ID: "a", Text: "A"}))
	s.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		_ = next(ops)
		for i := range ops {
			if ops[i].Key == "r:Note:b" {
				ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
			}
		}
		return kv.Unanswered(ops)
	})
	vs, err := r.GetMulti(ctx, []string{"a", "b"})
	s.set(nil)
	wantErr(t, err, kv.ErrUnavailable)
	if vs != nil {
		t.Errorf("got %v beside the error, want nothing", vs)
	}
}

func TestRecords_CreateMulti_SaysWhichFailed(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		const n = 1200
		must(t, r.Create(ctx, &note{ID: "n0700", Text: "first"}))
		vs := make([]*note, n)
		for i := range vs {
			vs[i] = &note{ID: fmt.Sprintf("n%04d", i), Text: "x"}
		}
		vs[3].Text = ""
		vs[1100].ID = "n1099" // twice in one call
		err := r.CreateMulti(ctx, vs)
		twice := 1100
		for i := range kvmodel.Items(err) {
			if i == 1099 {
				twice = i
			}
		}
		wantFailed(t, err, map[int]error{3: errBlank, 700: kv.ErrExists, twice: kv.ErrExists})
		wantSame(t, n-2, len(allIDs(t, ctx, r)), "records")
	})
}

func TestRecords_CreateMulti_RecordsThatLoseARacePauseTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, beaten := t.Context(), map[string]bool{}
		s := tamper(plain(memkv.New(memkv.Options{})), func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			for i := range ops {
				op := &ops[i]
				if op.Kind != kv.Add || !strings.HasPrefix(op.Key, "r:") || beaten[op.Key] {
					_ = next(ops[i : i+1])
					continue
				}
				beaten[op.Key], op.Result.Err = true, kv.ErrExists
			}
			return kv.Unanswered(ops)
		})
		db := open(t, s)
		r := kvmodel.NewRecords(db, noteSchema())
		vs := make([]*note, 300)
		for i := range vs {
			vs[i] = &note{Text: "x"}
		}
		began := time.Now()
		must(t, r.CreateMulti(ctx, vs))
		if took := time.Since(began); len(beaten) != len(vs) || took > 2*time.Millisecond {
			t.Errorf("%d records that each lost one race took %v, longer than the longest pause", len(beaten), took)
		}
		must(t, db.Close(ctx))
	})
}

func TestRecords_Put_MakesOrReplaces(t *testing.T) {
	eachNotes(t, simpleNotes(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Put(ctx, &note{ID: "a", Text: "first"}))
		must(t, r.Put(ctx, &note{ID: "a", Text: "second"}))
		wantText(t, ctx, r, "a", "second")
		fresh := &note{Text: "third"}
		must(t, r.Put(ctx, fresh))
		proof.Equal(t, len(fresh.ID), 26, "bytes of the new id")
	})
}

func TestRecords_Put_OfAModelWithVersionNeedsTheVersion(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		v := &note{ID: "a", Text: "first"}
		must(t, r.Put(ctx, v))
		created := v.Created
		wantErr(t, r.Put(ctx, &note{ID: "a", Text: "must be absent"}), kv.ErrConflict)
		wantErr(t, r.Put(ctx, &note{ID: "b", Text: "must be there", Version: 1}), kv.ErrConflict)
		v.Text, v.Created = "second", time.Time{}
		must(t, r.Put(ctx, v))
		if v.Version != 2 || !v.Created.Equal(created) || v.Updated.Before(created) {
			t.Errorf("put %+v, want version 2, created as before", v)
		}
		wantErr(t, r.Put(ctx, &note{ID: "a", Text: "too late", Version: 1}), kv.ErrConflict)
		must(t, r.Delete(ctx, "a"))
		wantErr(t, r.Put(ctx, &note{ID: "a", Text: "deleted meanwhile", Version: 2}), kv.ErrConflict)
		proof.Ends(t, kv.ErrNotFound)(r.Get(ctx, "a"))
		must(t, r.Create(ctx, &note{ID: "a", Text: "another"}))
		wantErr(t, r.Put(ctx, &note{ID: "a", Text: "a form of the one before", Version: 1}), kv.ErrConflict)
	})
}

// A failed Put leaves the version of the value unchanged. Otherwise a second Put of it would
// overwrite the change that the first one lost to.
func TestRecords_Put_ThatFailsLeavesTheVersionAsItWas(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		rival := kvmodel.NewRecords(closing(t, open(t, shared{s})), noteSchema())
		must(t, rival.Create(ctx, &note{ID: "a", Text: "first"}))
		first := true
		between := betweenReadAndWrite(s, func() {
			if first {
				first = false
				proof.Done(t)(rival.Update(ctx, "a", func(n *note) error { n.Text = "rival's"; return nil }))
			}
		})
		r := kvmodel.NewRecords(closing(t, open(t, between)), noteSchema())
		v := &note{ID: "a", Text: "mine", Version: 1}
		wantErr(t, r.Put(ctx, v), kv.ErrConflict)
		wantErr(t, r.Put(ctx, v), kv.ErrConflict)
		wantText(t, ctx, r, "a", "rival's")
	})
}

// betweenReadAndWrite runs f before each trip or transaction that may commit a record.
func betweenReadAndWrite(s kv.Store, f func()) kv.Store {
	commits := func(ops []kv.Op) bool {
		return slices.ContainsFunc(ops, func(op kv.Op) bool {
			return op.Kind.Writes() && strings.HasPrefix(op.Key, "r:")
		})
	}
	p := kv.PowersOf(s)
	if whole := p.Atomic; whole != nil {
		p.Atomic = func(ctx context.Context, g func(kv.Store) error) error {
			f()
			return whole(ctx, g)
		}
	}
	return powers{tamper(shared{s}, func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
		if commits(ops) {
			f()
		}
		return next(ops)
	}), p}
}

func TestRecords_Update_ReturnsWhatTheRecordHasBecome(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		v := &note{ID: "a", Text: "first"}
		must(t, r.Create(ctx, v))
		got, err := r.Update(ctx, "a", func(n *note) error {
			n.Text, n.Version, n.Created, n.Updated = "second", 99, time.Time{}, time.Unix(5, 0)
			return nil
		})
		must(t, err)
		want := &note{ID: "a", Text: "second", Version: 2, Created: v.Created, Updated: got.Updated}
		if diff := cmp.Diff(want, got); diff != "" || got.Updated.Before(v.Updated) {
			t.Errorf("updated at %v (-want +got)\n%s", got.Updated, diff)
		}
		read, err := r.Get(ctx, "a")
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(want, read), "read")
	})
}

// unwrappable is an error that errors.Is cannot compare.
type unwrappable struct{ causes []error }

func (e unwrappable) Error() string { return fmt.Sprint("of mine: ", e.causes) }

func (e unwrappable) Unwrap() error { return e.causes[0] }

func TestRecords_Update_ReturnsTheFuncsErrorAsItIsAndWritesNothing(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Create(ctx, &note{ID: "a", Text: "first"}))
		_, elsewhere := r.Get(ctx, "elsewhere")
		for _, want := range []error{errOfMine, fmt.Errorf("look: %w", errOfMine), elsewhere, kv.ErrConflict, kv.ErrUnclear, kv.ErrExists} {
			for _, atHand := range []bool{false, true} {
				if atHand {
					proof.Done(t)(r.Get(ctx, "a"))
				}
				got, err := r.Update(ctx, "a", func(n *note) error { n.Text = "changed"; return want })
				if err != want || got != nil {
					t.Errorf("got %v, %v; want the error %q itself", got, err, want)
				}
			}
		}
		_, err := r.Update(ctx, "a", func(*note) error { return unwrappable{[]error{kv.ErrNotFound}} })
		if _, ok := err.(unwrappable); !ok {
			t.Errorf("got %#v, want the error itself", err)
		}
		_, err = r.Upsert(ctx, "new", func(*note) error { return elsewhere })
		if err != elsewhere {
			t.Errorf("upsert: got %v, want the error itself", err)
		}
		wantText(t, ctx, r, "a", "first")
	})
}

func TestRecords_Update_ThatChangesNothingWritesNothing(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		v := &note{ID: "a", Text: "first"}
		must(t, r.Create(ctx, v))
		c := cost(t, ctx, func(ctx context.Context) error {
			got, err := r.Update(ctx, "a", func(n *note) error { n.Version, n.Updated = 7, time.Now(); return nil })
			wantSame(t, v, got, "became")
			return err
		})
		if c.Trips != 1 || c.Wrote != 0 {
			t.Errorf("it took %v, want one read", c)
		}
	})
}

func TestRecords_Update_CallsItsFuncAgainWithTheNewerRecord(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		rival := kvmodel.NewRecords(closing(t, open(t, shared{s})), noteSchema())
		must(t, rival.Create(ctx, &note{ID: "a", Text: "0"}))
		races := 3
		r := kvmodel.NewRecords(closing(t, open(t, betweenReadAndWrite(s, func() {
			if races > 0 {
				races--
				proof.Done(t)(rival.Update(ctx, "a", func(n *note) error { n.Text += "r"; return nil }))
			}
		}))), noteSchema())
		var saw []string
		got, err := r.Update(ctx, "a", func(n *note) error { saw = append(saw, n.Text); n.Text += "m"; return nil })
		must(t, err)
		wantSame(t, []string{"0", "0r", "0rr", "0rrr"}, saw, "what the func saw")
		if got.Text != "0rrrm" || got.Version != 5 {
			t.Errorf("became %+v", got)
		}
	})
}

func TestRecords_Update_AnOldCopyAtHandDecidesNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		rival := kvmodel.NewRecords(closing(t, open(t, shared{s})), noteSchema())
		r := kvmodel.NewRecords(closing(t, open(t, shared{s})), noteSchema())
		must(t, rival.Create(ctx, &note{ID: "a", Text: "0"}))
		for _, f := range []func(*note) error{
			func(n *note) error { // ends in an error on the old copy
				if n.Text == "0" {
					return errOfMine
				}
				n.Text += "m"
				return nil
			},
			func(n *note) error { // changes nothing on the old copy
				if n.Text != "0" {
					n.Text += "m"
				}
				return nil
			},
		} {
			proof.Done(t)(rival.Update(ctx, "a", func(n *note) error { n.Text = "0"; return nil }))
			proof.Done(t)(r.Get(ctx, "a"))
			proof.Done(t)(rival.Update(ctx, "a", func(n *note) error { n.Text = "1"; return nil }))
			got, err := r.Update(ctx, "a", f)
			if err != nil || got.Text != "1m" {
				t.Errorf("became %+v, %v; want 1m", got, err)
			}
		}
	})
}

func TestRecords_Update_MustNotChangeTheID(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Create(ctx, &note{ID: "a", Text: "x"}))
		proof.Ends(t, kvmodel.ErrInvalid)(r.Update(ctx, "a", func(n *note) error { n.ID = "b"; return nil }))
		proof.Ends(t, kvmodel.ErrInvalid)(r.Upsert(ctx, "c", func(n *note) error { n.ID, n.Text = "b", "x"; return nil }))
		wantSame(t, []string{"a"}, allIDs(t, ctx, r), "records")
	})
}

func TestRecords_Update_OfAnAbsentOrEmptyIDSaysSo(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		f := func(*note) error { t.Error("the func was called"); return nil }
		_, err := r.Update(ctx, "nobody", f)
		wantErr(t, err, kv.ErrNotFound)
		if want := `Note "nobody": not found`; err != nil && err.Error() != want {
			t.Errorf("error %q, want %q", err, want)
		}
		_, err = r.Update(ctx, "", f)
		wantErr(t, err, kvmodel.ErrInvalid)
		_, err = r.Upsert(ctx, "", f)
		wantErr(t, err, kvmodel.ErrInvalid)
		wantErr(t, r.Delete(ctx, ""), kv.ErrNotFound)
	})
}

func TestRecords_Validate_IsAskedBeforeEveryWrite(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Create(ctx, &note{ID: "a", Text: "x"}))
		blank := func(n *note) error { n.Text = ""; return nil }
		_, update := r.Update(ctx, "a", blank)
		_, upsert := r.Upsert(ctx, "b", blank)
		for name, err := range map[string]error{
			"create": r.Create(ctx, &note{}), "put": r.Put(ctx, &note{ID: "a", Version: 1}), "update": update, "upsert": upsert,
		} {
			if !errors.Is(err, kvmodel.ErrInvalid) || !errors.Is(err, errBlank) {
				t.Errorf("%s: %v, want ErrInvalid and what Validate said", name, err)
			}
		}
		wantText(t, ctx, r, "a", "x")
	})
}

func TestRecords_Validate_WhatItChangesIsStoredAndIndexed(t *testing.T) {
	for _, isFile := range []bool{true, false} {
		s := &site{Store: memkv.New(memkv.Options{}), isFile: isFile}
		v := plugged(open(t, s), "Text")
		made := &note{ID: "a", Text: " new "}
		must(t, v.notes.Create(t.Context(), made))
		v.finds(t, "Text", "new", "a")
		changed, err := v.notes.Update(t.Context(), "a", func(n *note) error { n.Text = "\told"; return nil })
		must(t, err)
		v.finds(t, "Text", "old", "a")
		stored, err := v.notes.Get(t.Context(), "a")
		must(t, err)
		wantSame(t, []string{"new", "old", "old"}, []string{made.Text, changed.Text, stored.Text}, "texts as made, changed and stored")
		v.undeploy(t)
	}
}

func TestRecords_Delete_TheIDCanBeUsedAgainAndRevGrows(t *testing.T) {
	eachNotes(t, simpleNotes(), func(t *testing.T, ctx context.Context, r *notes, s kv.Store) {
		wantErr(t, r.Delete(ctx, "a"), kv.ErrNotFound)
		var last uint64
		for i := range 5 {
			must(t, r.Create(ctx, &note{ID: "a", Text: fmt.Sprint(i)}))
			made := revOf(t, ctx, s, "a")
			if i%2 == 0 {
				_, err := r.Get(ctx, "a") // a deletion of a copy at hand goes another way
				must(t, err)
			}
			must(t, r.Delete(ctx, "a"))
			deleted := revOf(t, ctx, s, "a")
			if made <= last || deleted <= made {
				t.Errorf("rev went from %d to %d to %d, want it to grow", last, made, deleted)
			}
			last = deleted
			proof.Ends(t, kv.ErrNotFound)(r.Get(ctx, "a"))
			wantErr(t, r.Delete(ctx, "a"), kv.ErrNotFound)
			proof.Ends(t, kv.ErrNotFound)(r.Update(ctx, "a", func(*note) error { return nil }))
		}
		got, err := r.Upsert(ctx, "a", func(n *note) error { n.Text += "upserted"; return nil })
		if err != nil || got.Text != "upserted" {
			t.Errorf("upsert of a deleted record: %+v, %v; want a fresh one", got, err)
		}
	})
}

func revOf(t *testing.T, ctx context.Context, s kv.Store, id string) uint64 {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet("r:Note:"+id))
	must(t, err)
	rev, err := kvmodel.RevOf(r.Value)
	must(t, err)
	return rev
}

func TestRecords_IDsAndValuesMayBeAnyBytes(t *testing.T) {
	ids := []string{"a:b", "a%3Ab", "{x}", "\x00\xff", "é ü", strings.Repeat("long", 100), strings.Repeat("long", 100) + "er", "#", "..", "%"}
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		var want []string
		for _, id := range ids {
			if id == "\x00\xff" {
				continue // not for a JSON codec
			}
			must(t, r.Create(ctx, &note{ID: id, Text: id + "\n\x00"}))
			want = append(want, id)
		}
		slices.Sort(want)
		wantSame(t, want, allIDs(t, ctx, r), "records")
		for _, id := range want {
			wantText(t, ctx, r, id, id+"\n\x00")
		}
	})
}

func TestRecords_ATooLargeRecordIsRefusedAndTheOldOneStays(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		must(t, r.Create(ctx, &note{ID: "a", Text: "x"}))
		huge := strings.Repeat("x", kv.MaxValue)
		proof.Ends(t, kv.ErrTooLarge)(r.Update(ctx, "a", func(n *note) error { n.Text = huge; return nil }))
		wantErr(t, r.Create(ctx, &note{ID: "b", Text: huge}), kv.ErrTooLarge)
		wantText(t, ctx, r, "a", "x")
	})
}

type edge struct {
	vote
	Note string
}

func edges(db *kvmodel.DB) *kvmodel.Records[edge, vote] {
	return kvmodel.NewRecords(db, kvmodel.Schema[edge, vote]{
		Name: "Edge", Version: 1, Key: voteKey2(), Codec: keeping[edge]{},
		ID:    func(e *edge) vote { return vote{User: e.User, Story: e.Story} },
		SetID: func(e *edge, id vote) { e.User, e.Story = id.User, id.Story },
	})
}

func TestRecords_CompositeID_CreateTwiceIsErrExistsAndAnEmptyPartIsInvalid(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		r := edges(closing(t, open(t, s)))
		must(t, r.Create(ctx, &edge{vote: vote{User: "u:1", Story: "s"}}))
		must(t, r.Create(ctx, &edge{vote: vote{User: "u", Story: "1:s"}}))
		wantErr(t, r.Create(ctx, &edge{vote: vote{User: "u:1", Story: "s"}}), kv.ErrExists)
		wantErr(t, r.Create(ctx, &edge{vote: vote{User: "u:1"}}), kvmodel.ErrInvalid)
		wantErr(t, r.Put(ctx, &edge{vote: vote{Story: "s"}}), kvmodel.ErrInvalid)
		proof.Ends(t, kvmodel.ErrInvalid)(r.Update(ctx, vote{User: "u:1"}, func(*edge) error { return nil }))
		proof.Ends(t, kv.ErrNotFound)(r.Get(ctx, vote{User: "u:1"}))
		got, err := r.Upsert(ctx, vote{User: "new", Story: "s"}, func(e *edge) error { e.Note = "n"; return nil })
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff(&edge{vote{User: "new", Story: "s"}, "n"}, got, cmp.AllowUnexported(edge{})), "upsert")
	})
}

func TestLoad_FetchesEachReferenceOnceInOneTrip(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		createNotes(t, ctx, r, 0, 3)
		type comment struct{ About string }
		from := []comment{{"note-00001"}, {"gone"}, {"note-00002"}, {"note-00001"}, {""}}
		got := map[string]string{}
		c := cost(t, ctx, func(ctx context.Context) error {
			found, err := kvmodel.Load(ctx, r, from, func(c comment) string { return c.About })
			for id, v := range found {
				got[id] = v.ID
			}
			return err
		})
		wantSame(t, map[string]string{"note-00001": "note-00001", "note-00002": "note-00002"}, got, "loaded")
		if c.Trips != 1 || c.Keys != 3 {
			t.Errorf("it took %v, want one trip for 3 keys", c)
		}
		none, err := kvmodel.Load(ctx, r, nil, func(c comment) string { return c.About })
		if err != nil || len(none) != 0 {
			t.Errorf("from nothing: %v, %v", none, err)
		}
	})
}

func TestRecords_Expires_TheRecordGoesAtItsTimeAndTheIDIsFreeAgain(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			clock := proof.NewClock(time.Now())
			s := kind(memkv.New(memkv.Options{Now: clock.Now}))
			r := kvmodel.NewRecords(closing(t, open(t, s, kvmodel.Clock(clock.Now))), noteSchema())
			must(t, r.Create(ctx, &note{ID: "a", Text: "x", Expires: clock.Now().Add(time.Hour)}))
			clock.Advance(50 * time.Minute)
			proof.Done(t)(r.Update(ctx, "a", func(n *note) error { n.Text = "y"; return nil }))
			clock.Advance(9 * time.Minute)
			wantText(t, ctx, r, "a", "y")
			clock.Advance(time.Minute + 2*time.Second)
			proof.Ends(t, kv.ErrNotFound)(r.Get(ctx, "a"))
			proof.Ends(t, kv.ErrNotFound)(r.Update(ctx, "a", func(*note) error { return nil }))
			wantErr(t, r.Delete(ctx, "a"), kv.ErrNotFound)
			must(t, r.Create(ctx, &note{ID: "a", Text: "again"}))
			clock.Advance(1000 * time.Hour)
			wantText(t, ctx, r, "a", "again")
		})
	}
}

func TestRecords_Expires_OutOfRangeIsInvalid(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, _ kv.Store) {
		now := time.Now()
		for _, at := range []time.Time{now.Add(-time.Second), time.Unix(0, 0), now.Add(kv.MaxTTL + time.Hour)} {
			wantErr(t, r.Create(ctx, &note{Text: "x", Expires: at}), kvmodel.ErrInvalid)
		}
		must(t, r.Create(ctx, &note{Text: "x", Expires: now.Add(kv.MaxTTL - time.Hour)}))
	})
}

func rewrite(t *testing.T, ctx context.Context, s kv.Store, id string, body string, version int) {
	t.Helper()
	proof.Done(t)(kv.One(ctx, s, kv.OpSet("r:Note:"+id, kvmodel.EncodeLive(version, 1000, []byte(body)))))
}

func TestRecords_Upgrade_RunsOnTheRecordsOfOlderVersionsOnly(t *testing.T) {
	schema := noteSchema()
	schema.Version = 3
	eachNotes(t, schema, func(t *testing.T, ctx context.Context, r *notes, s kv.Store) {
		must(t, r.Create(ctx, &note{Text: "x"}))
		for version, want := range map[int]string{1: "x (from 1)", 2: "x (from 2)", 3: "x", 4: "x"} {
			rewrite(t, ctx, s, "a", `{"ID":"a","Text":"x","Version":1}`, version)
			wantText(t, ctx, r, "a", want)
		}
		rewrite(t, ctx, s, "a", `{"ID":"a","Text":"poison"}`, 2)
		_, err := r.Get(ctx, "a")
		proof.Contains(t, fmt.Sprint(err), `Note "a": upgrade from version 2: cannot be upgraded`)
		// A rewrite gives it this version.
		rewrite(t, ctx, s, "a", `{"ID":"a","Text":"x"}`, 2)
		for _, want := range []string{"x (from 2)1", "x (from 2)12"} {
			got, err := r.Update(ctx, "a", func(n *note) error { n.Text += want[len(want)-1:]; return nil })
			if err != nil || got.Text != want {
				t.Errorf("updated to %+v, %v; want %q", got, err, want)
			}
		}
	})
}

func TestRecords_WhatANewerReleaseWroteIsKeptOnRewrite(t *testing.T) {
	schema := noteSchema()
	schema.Version = 3
	eachNotes(t, schema, func(t *testing.T, ctx context.Context, r *notes, s kv.Store) {
		must(t, r.Create(ctx, &note{Text: "x"}))
		rewrite(t, ctx, s, "a", `{"ID":"a","Text":"x","Color":{"R":1}}`, 5)
		proof.Done(t)(r.Update(ctx, "a", func(n *note) error { n.Text = "y"; return nil }))
		stored, err := kv.One(ctx, s, kv.OpGet("r:Note:a"))
		must(t, err)
		version, body, err := kvmodel.BodyOf(stored.Value)
		must(t, err)
		var got struct {
			Text  string
			Color struct{ R int }
		}
		must(t, json.Unmarshal(body, &got))
		if version != 5 || got.Text != "y" || got.Color.R != 1 {
			t.Errorf("stored version %d, %s; want version 5 with its color", version, body)
		}
	})
}

func TestRecords_CorruptBytesAreNamed(t *testing.T) {
	eachNotes(t, noteSchema(), func(t *testing.T, ctx context.Context, r *notes, s kv.Store) {
		must(t, r.Create(ctx, &note{ID: "b", Text: "x"}))
		for name, data := range map[string][]byte{
			"empty": {}, "foreign": []byte("hello"), "cut": {0xe1, 1, 1},
			"body": kvmodel.EncodeLive(1, 1000, []byte(`{"ID":7}`)), "no body": kvmodel.EncodeLive(1, 1000, nil),
		} {
			proof.Done(t)(kv.One(ctx, s, kv.OpSet("r:Note:a", data)))
			_, get := r.Get(ctx, "a")
			_, multi := r.GetMulti(ctx, []string{"b", "a"})
			_, update := r.Update(ctx, "a", func(*note) error { return nil })
			for verb, err := range map[string]error{
				"get": get, "multi": multi, "update": update,
				"create": r.Create(ctx, &note{ID: "a", Text: "x"}), "put": r.Put(ctx, &note{ID: "a", Text: "x"}),
			} {
				wantErr(t, err, kvmodel.ErrCorrupt)
				if err != nil && !strings.Contains(err.Error(), `Note "a"`) {
					t.Errorf("%s, %s: error %q does not name the record", name, verb, err)
				}
				if corrupt, ok := errors.AsType[*kvmodel.CorruptError](err); !ok || !slices.Contains(corrupt.Keys, "r:Note:a") {
					t.Errorf("%s, %s: error %v does not name the key", name, verb, err)
				}
			}
			left, err := kv.One(ctx, s, kv.OpGet("r:Note:a"))
			proof.Is(t, err, nil)
			proof.NoDiff(t, cmp.Diff(data, left.Value, cmpopts.EquateEmpty()), "%s: what is stored has changed", name)
		}
		// Nothing but the corrupt bytes was wrong.
		must(t, r.Delete(ctx, "a"))
		proof.Ends(t, kvmodel.ErrNotFound)(r.Get(ctx, "a"))
		must(t, r.Create(ctx, &note{ID: "a", Text: "y"}))
	})
}

func TestRecords_AModelNameInUsePanics(t *testing.T) {
	db := closing(t, open(t, memkv.New(memkv.Options{})))
	kvmodel.NewRecords(db, noteSchema())
	defer func() {
		if recover() == nil {
			t.Error("two models of one name were taken")
		}
	}()
	kvmodel.NewRecords(db, noteSchema())
}

func TestRecords_TenantsDoNotMeet(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		a := kvmodel.NewRecords(closing(t, open(t, shared{s}, kvmodel.Tenant("a"))), noteSchema())
		b := kvmodel.NewRecords(closing(t, open(t, shared{s}, kvmodel.Tenant("b"))), noteSchema())
		must(t, a.Create(ctx, &note{ID: "x", Text: "of a"}))
		proof.Ends(t, kv.ErrNotFound)(b.Get(ctx, "x"))
		wantLen(t, 0, allIDs(t, ctx, b), "b sees")
	})
	proof.Ends(t, kv.ErrBadKey)(kvmodel.Open(memkv.New(memkv.Options{}), kvmodel.Tenant(strings.Repeat("x", 41))))
}
