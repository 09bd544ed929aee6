package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/timeline"
)

func wantText(t *testing.T, err, kind error, text string) {
	t.Helper()
	if !errors.Is(err, kind) || err.Error() != text {
		t.Errorf("the error is\n%v, want\n%s", err, text)
	}
}

func TestErrors_OfCursorsNameTheIndexAndTheBeginningOfTheCursor(t *testing.T) {
	ctx, m, done := open()
	defer done()
	long := strings.Repeat("x", 500)
	archived := timeline.WithArchive(m.Bulletins.Newest, func(b *examples.Bulletin) int64 { return b.ID }, m.Bulletins.Before)
	other := plug.Cursor("another", nil)
	for index, page := range map[string]func(cursor string) error{
		"Story.Newest":                   func(c string) error { return second(m.Stories.Newest.Page(ctx, c, 5)) },
		"Story.NewestByAuthor":           func(c string) error { return second(m.Stories.NewestByAuthor.Of("ann").Page(ctx, c, 5)) },
		"Bulletin.Newest":                func(c string) error { return second(archived.Page(ctx, c, 5)) },
		"Bulletin.Before":                func(c string) error { return second(m.Bulletins.Before(7).Page(ctx, c, 5)) },
		"Album.ByArtist":                 func(c string) error { return second(m.Albums.ByArtist.Of("ann").Page(ctx, c, 5)) },
		"Photo.TopViews":                 func(c string) error { return second(m.Photos.TopViews.Page(ctx, c, 5)) },
		"Photo.Archive":                  func(c string) error { return second(m.Photos.Archive.Ascending().Page(ctx, c, 5)) },
		"Photo.TopViewsByCategoryPerDay": func(c string) error { return second(m.Photos.TopViewsByCategoryPerDay.Of("sea").Page(ctx, c, 5)) },
	} {
		wantText(t, page("?"), kvmodel.ErrBadCursor, index+`: bad cursor "?": no page has made it`)
		wantText(t, page(other), kvmodel.ErrBadCursor, index+`: bad cursor "`+other+`": it belongs to another listing, or is cut`)
		if err := page(long); !errors.Is(err, kvmodel.ErrBadCursor) || len(err.Error()) > 180 {
			t.Errorf("of a long cursor: %v", err)
		}
	}
}

func second[V any](_ V, err error) error { return err }

func TestErrors_OfAnIDThatIsTooLongQuoteItsBeginning(t *testing.T) {
	_, m, done := open()
	defer done()
	err := m.Memos.Create(context.Background(), &examples.Memo{ID: strings.Repeat("é", 1500)})
	if !errors.Is(err, kvmodel.ErrTooLarge) || len(err.Error()) > 200 || !utf8.ValidString(err.Error()) ||
		!strings.Contains(err.Error(), "an id of 3000 bytes, which are 9000 when escaped, at most 2048") {
		t.Errorf("%v", err)
	}
}

func TestErrors_OfAPageOfNothingNameTheIndex(t *testing.T) {
	_, m, done := open()
	defer done()
	err := second(allMemos(m).Page(context.Background(), "", 0))
	wantText(t, err, kvmodel.ErrInvalid, "Memo.Newest: invalid: a page of 0; it has 1 to 1000 items")
}

func TestErrors_OfTwoModelsWithOneNameSayWhatToDo(t *testing.T) {
	_, m, done := open()
	defer done()
	defer func() {
		if text, _ := recover().(string); !strings.Contains(text, "has a model Account already") || !strings.Contains(text, `kv:"model,name=...`) {
			t.Errorf("%q", text)
		}
	}()
	examples.New(m.DB)
}

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
	proof.Equal(t, photo.Views, 1, "a photo that was created later begins with")
}
