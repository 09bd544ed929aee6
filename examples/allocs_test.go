package examples_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// In memory, reading and writing the store cost little else.
func TestAllocations_OfTheHotVerbsAreBounded(t *testing.T) {
	ctx := context.Background()
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	proof.Must(t, err)
	defer db.Close(ctx)
	stories, photos := examples.NewStories(db), examples.NewPhotos(db)
	check := func(err error) {
		t.Helper()
		proof.Must(t, err)
	}
	for i := range 200 {
		check(stories.Create(ctx, &examples.Story{ID: fmt.Sprint("s", i), Author: "ann", Title: "Rings", Text: fmt.Sprint("text ", i)}))
		check(photos.Create(ctx, &examples.Photo{ID: fmt.Sprint("p", i), Category: "sea", Taken: time.Unix(int64(i), 0)}))
		_, err := photos.Views.Add(ctx, fmt.Sprint("p", i), int64(i))
		check(err)
	}
	check(db.Flush(ctx))
	texts := 0
	for _, verb := range []struct {
		name string
		most float64
		do   func() error
	}{
		{"Get", 8, func() error { _, err := stories.Get(ctx, "s7"); return err }},
		{"a page of 20", 120, func() error { _, err := stories.Newest.Page(ctx, "", 20); return err }},
		{"a page of a board of 20", 470, func() error { _, err := photos.TopViews.Page(ctx, "", 20); return err }},
		{"Create with two timelines", 130, func() error {
			return stories.Create(ctx, &examples.Story{Author: "ann", Title: "Rings", Text: "text"})
		}},
		{"Update that moves up", 112, func() error {
			texts++
			_, err := stories.Update(ctx, "s7", func(s *examples.Story) error { s.Text = fmt.Sprint("again ", texts); return nil })
			return err
		}},
		{"Hit of a counter with two boards", 62, func() error { _, err := photos.Views.Hit(ctx, "p7"); return err }},
	} {
		check(verb.do())
		got := proof.Allocs(200, func() { check(verb.do()) })
		t.Logf("%s: %.0f allocations", verb.name, got)
		if got > verb.most {
			t.Errorf("%s: %.0f allocations, want %.0f at most", verb.name, got, verb.most)
		}
	}
}
