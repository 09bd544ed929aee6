package kvmodel_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// onNear runs test with notes of a process that keeps what it has read for a minute, told of
// nothing, and with those of another one. Each knows its models. s has the trips of the first.
func onNear(t *testing.T, test func(t *testing.T, r, others *notes, s *proof.KeyLog)) {
	synctest.Test(t, func(t *testing.T) {
		mem := plain(memkv.New(memkv.Options{}))
		s := &proof.KeyLog{Store: shared{mem}}
		near, err := nearkv.New(s, nearkv.Options{Bytes: 1 << 20, Age: time.Minute})
		must(t, err)
		both := make([]*notes, 2)
		for i, store := range []kv.Store{near, shared{mem}} {
			both[i] = kvmodel.NewRecords(closing(t, open(t, store)), simpleNotes())
			must(t, both[i].Put(t.Context(), &note{ID: "own", Text: "a"}))
		}
		must(t, both[1].Create(t.Context(), &note{ID: "kept", Text: "a"}))
		proof.Done(t)(both[0].Get(t.Context(), "kept"))
		proof.Ends(t, kv.ErrNotFound)(both[0].Get(t.Context(), "absent"))
		time.Sleep(2 * time.Second) // It was not read a moment ago.
		synctest.Wait()             // The journal has noted that the process is idle.
		s.Trips = nil
		test(t, both[0], both[1], s)
	})
}

// add returns an edit that adds to the text of a note, and notes in seen what it was.
func add(text string, seen *[]string) func(*note) error {
	return func(n *note) error {
		*seen = append(*seen, n.Text)
		n.Text += text
		return nil
	}
}

func TestUpdate_BeginsWithTheRecordThatIsKeptNear(t *testing.T) {
	onNear(t, func(t *testing.T, r, _ *notes, s *proof.KeyLog) {
		var seen []string
		proof.Done(t)(r.Update(t.Context(), "kept", add("b", &seen)))
		proof.Len(t, s.Trips, 1, "trips")
		// The write is no longer near, so the next change reads it.
		proof.Done(t)(r.Update(t.Context(), "kept", add("c", &seen)))
		wantNote(t, r, "kept", "abc")
	})
}

func TestUpdate_WhatIsKeptNearAndOldIsReadAnewFromTheStore(t *testing.T) {
	onNear(t, func(t *testing.T, r, others *notes, s *proof.KeyLog) {
		var seen []string
		proof.Done(t)(others.Update(t.Context(), "kept", add("b", &seen)))
		proof.Done(t)(r.Update(t.Context(), "kept", add("c", &seen)))
		if len(seen) != 3 || seen[1] != "a" || seen[2] != "ab" {
			t.Errorf("the edits saw %q, want the old record first, then the new one", seen)
		}
		wantNote(t, others, "kept", "abc")
	})
}

func TestUpdate_WithoutAChangeRestsOnNothingThatIsKeptNear(t *testing.T) {
	refused := errors.New("refused")
	for name, test := range map[string]struct {
		others, own func(ctx context.Context, r *notes) error
		want        error
	}{
		"a record that another process has deleted": {
			others: func(ctx context.Context, r *notes) error { return r.Delete(ctx, "kept") },
			own: func(ctx context.Context, r *notes) error {
				_, err := r.Update(ctx, "kept", func(*note) error { return nil })
				return err
			},
			want: kv.ErrNotFound,
		},
		"a record that another process has made": {
			others: func(ctx context.Context, r *notes) error { return r.Create(ctx, &note{ID: "absent", Text: "a"}) },
			own:    func(ctx context.Context, r *notes) error { return r.Delete(ctx, "absent") },
		},
		"an edit that refuses the old record alone": {
			others: func(ctx context.Context, r *notes) error { return r.Put(ctx, &note{ID: "kept", Text: "new"}) },
			own: func(ctx context.Context, r *notes) error {
				_, err := r.Update(ctx, "kept", func(n *note) error {
					if n.Text == "a" {
						return refused
					}
					return nil
				})
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			onNear(t, func(t *testing.T, r, others *notes, _ *proof.KeyLog) {
				must(t, test.others(t.Context(), others))
				proof.Is(t, test.own(t.Context(), r), test.want)
			})
		})
	}
}

func wantNote(t *testing.T, r *notes, id, want string) {
	t.Helper()
	if _, err := r.Update(t.Context(), id, func(n *note) error {
		proof.Equal(t, n.Text, want, "%s", id)
		return nil
	}); err != nil {
		t.Error(err)
	}
}
