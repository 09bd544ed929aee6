package inspect_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func statusOf(t *testing.T, s kv.Store, models ...func(*kvmodel.DB)) inspect.Status {
	t.Helper()
	db := open(t, s)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	for _, add := range models {
		add(db)
	}
	st, err := inspect.New(db).Status(t.Context())
	must(t, err)
	return st
}

func withNotes(db *kvmodel.DB) { newNotes(db) }

func TestStatus_WhatIsLostIsAFindingAndNoError(t *testing.T) {
	s := client{newServer(furnished(t))}
	s.lost.Store(true)
	st := statusOf(t, s, withNotes)
	if !errors.Is(st.Lost, kv.ErrLost) || st.Next != "recover" || len(st.Models) != 1 || st.Stats.Lost != 1 {
		t.Errorf("%+v", st)
	}
	if m := st.Models[0]; !errors.Is(m.Err, kv.ErrLost) || m.Name != "Note" || m.Version != 2 {
		t.Errorf("the model: %+v", m)
	}
	if text := strings.Join(st.Warnings, "\n"); !strings.Contains(text, "1 server has lost its memory") {
		t.Errorf("warnings: %s", text)
	}
}

func TestStatus_NextIsWhatHelpsAll(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	fillWithoutIndexes(t, mem)
	draftsIn(t, mem)
	indexedDrafts := func(db *kvmodel.DB) { draftsByID(newDrafts(db)) }
	if st := statusOf(t, shared(mem), withNotes); st.Next != "build Note" {
		t.Errorf("of one model that is not built: want build Note, got %q", st.Next)
	}
	if st := statusOf(t, shared(mem), withNotes, indexedDrafts); st.Next != "build" {
		t.Errorf("of two: want build, got %q", st.Next)
	}
	// A damaged record comes before an index that is not built.
	_, err := kv.One(t.Context(), mem, kv.OpSet("r:Draft:d1", []byte("?")))
	must(t, err)
	if st := statusOf(t, shared(mem), withNotes, indexedDrafts); st.Next != "check Draft" {
		t.Errorf("with a damaged record: want check Draft, got %q", st.Next)
	}
}
