package examples_test

import (
	"context"
	"testing"

	"github.com/ringtree/ringtree/examples"
)

// A page that hits before it has looked counts for whatever stands in its URL.
func TestHit_OfNoRecordIsNoErrorAndARecordMadeLaterBeginsWithIt(t *testing.T) {
	m, done := open()
	defer done()
	ctx := context.Background()
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
