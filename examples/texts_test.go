package examples_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/internal/plug"
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
