package kvmodel_test

import (
	"errors"
	"testing"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
)

func FuzzCursor(f *testing.F) {
	f.Add("Page.Newest", []byte("place"), plug.Cursor("Page.Newest", []byte("place")))
	f.Add("", []byte{}, "")
	f.Fuzz(func(t *testing.T, listing string, place []byte, cursor string) {
		if got, err := plug.ParseCursor(listing, plug.Cursor(listing, place)); err != nil || string(got) != string(place) {
			t.Errorf("place %q came back as %q, %v", place, got, err)
		}
		if _, err := plug.ParseCursor(listing, cursor); err != nil && !errors.Is(err, kvmodel.ErrBadCursor) {
			t.Errorf("got %v, want ErrBadCursor", err)
		}
	})
}
