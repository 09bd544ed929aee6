package kvmodel

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/internal/wire"
)

// Listing is one page of records with the cursors to go on from. An empty
// cursor means that there is nothing in that direction.
type Listing[T any] struct {
	Items      []*T
	Next, Prev string
}

// Lister is what rings, lists, boards and spans have in common. An empty
// cursor means the beginning. keep leaves out records; pages are filled up
// with others as far as a few more trips allow.
type Lister[T any] interface {
	Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (Listing[T], error)
}

const cursorFormat = 1

// Cursor returns the opaque text for a place in a listing, such as
// "Page.Newest", fit for a URL.
func Cursor(listing string, place []byte) string {
	b := append([]byte{cursorFormat}, cursorSum(listing, place)...)
	return base64.RawURLEncoding.EncodeToString(append(b, place...))
}

// ParseCursor returns the place a cursor stands for, or ErrBadCursor if it was
// not made by Cursor for this listing. It detects accidents, not forgers: a
// place must be harmless whatever it says.
func ParseCursor(listing, cursor string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder passes over line breaks, which no cursor has.
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < 1+cursorSumBytes || b[0] != cursorFormat {
		return nil, fmt.Errorf("%s: %w: %.60q", listing, ErrBadCursor, cursor)
	}
	place := b[1+cursorSumBytes:]
	if string(b[1:1+cursorSumBytes]) != string(cursorSum(listing, place)) {
		return nil, fmt.Errorf("%s: %w: it is of another listing, or cut", listing, ErrBadCursor)
	}
	return place, nil
}

const cursorSumBytes = 6

func cursorSum(listing string, place []byte) []byte {
	sum := sha256.Sum256(append(wire.AppendText(nil, listing), place...))
	return sum[:cursorSumBytes]
}
