package examples_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/timeline"
)

// empty asserts that l has nothing, as JSON too.
func empty(t *testing.T, what string) func(l any, err error) {
	return func(l any, err error) {
		t.Helper()
		text, _ := json.Marshal(l)
		if err != nil || strings.Contains(string(text), "null") || !strings.Contains(string(text), "[]") {
			t.Errorf("%s: %s, %v", what, text, err)
		}
	}
}

func anyOf[V any](v V, err error) (any, error) { return v, err }

func TestListings_OfNothingAreEmptyListsInJSON(t *testing.T) {
	ctx, m, done := open()
	defer done()
	bulletins := timeline.WithArchive(m.Bulletins.Newest,
		func(b *examples.Bulletin) int64 { return b.ID },
		m.Bulletins.Before)

	empty(t, "a ring")(anyOf(m.Stories.Newest.Page(ctx, "", 5)))
	empty(t, "a ring of someone")(anyOf(m.Stories.NewestByAuthor.Of("ann").Page(ctx, "", 5)))
	empty(t, "a ring of nobody")(anyOf(m.Stories.NewestByAuthor.Of().Page(ctx, "", 5)))
	empty(t, "a ring with an archive")(anyOf(bulletins.Page(ctx, "", 5)))
	empty(t, "ids in order")(anyOf(m.Bulletins.Before(0).Page(ctx, "", 5)))
	empty(t, "a sequence")(anyOf(m.Bulletins.Sequence.Page(ctx, "", 5)))
	empty(t, "the last page of a sequence")(anyOf(m.Bulletins.Sequence.LastPage(ctx, 5)))
	empty(t, "a list")(anyOf(m.Articles.ByTags.Of("go").Page(ctx, "", 5)))
	empty(t, "a list by number")(anyOf(m.Articles.ByTags.Of("go").Numbered(ctx, 1, 5)))
	empty(t, "values")(anyOf(m.Articles.ByTags.Values.Page(ctx, "", 5)))
	empty(t, "words")(anyOf(m.Articles.ByTags.Values.Words(ctx, "", 5)))
	empty(t, "a board")(anyOf(m.Photos.TopViews.Page(ctx, "", 5)))
	empty(t, "a board by number")(anyOf(m.Photos.TopViews.Numbered(ctx, 1, 5)))
	empty(t, "ranks of a board")(anyOf(m.Photos.TopViews.At(ctx, 1, 5)))
	empty(t, "a table")(anyOf(m.Photos.TopViews.Table(ctx, "", 5)))
	empty(t, "a part of a board")(anyOf(m.Photos.Archive.Between(time.Time{}, time.Now()).Page(ctx, "", 5)))
	empty(t, "a board of a day that is gone")(anyOf(m.Photos.TopViewsByCategoryPerDay.On(time.Now().AddDate(-1, 0, 0)).Of("sea").Page(ctx, "", 5)))
}

// A page that hits before it has looked counts for any text in its URL.
func TestHit_OfNoRecordIsNoErrorAndARecordMadeLaterBeginsWithIt(t *testing.T) {
	ctx, m, done := open()
	defer done()
	if n, err := m.Photos.Views.Hit(ctx, "sunset"); n != 1 || err != nil {
		t.Errorf("a hit of no record: %d, %v", n, err)
	}
	check(m.Photos.Create(ctx, &examples.Photo{ID: "sunset"}))
	photo, err := m.Photos.Get(ctx, "sunset")
	check(err)
	if photo.Views != 1 {
		t.Errorf("a photo that was created later begins with %d views", photo.Views)
	}
}
