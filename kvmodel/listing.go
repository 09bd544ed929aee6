package kvmodel

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Listing is one page of records with the cursors of the pages around it. An
// empty cursor means that there is nothing in that direction. Without an error, Items is
// not nil, so an empty page is "Items":[] in JSON.
type Listing[T any] struct {
	Items      []*T
	Next, Prev string
}

// Lister is what rings, lists, boards and spans have in common. An empty cursor
// means the beginning. Records for which keep returns false are left out: Page reads on
// until it has n others or the listing ends, and stops when it has looked at ten times n, so
// a short page, even an empty one, may have a Next. Only an empty Next is the end. A filter
// that keeps few records is the work of an index.
type Lister[T any] interface {
	Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (Listing[T], error)
}

// MaxPage is how many items a page has at most.
const MaxPage = 1000

// CheckPage returns an ErrInvalid unless a page of a listing may have n items.
func CheckPage(listing string, n int) error {
	if n < 1 || n > MaxPage {
		return fmt.Errorf("%s: %w: a page of %d; it has 1 to %d items", listing, ErrInvalid, n, MaxPage)
	}
	return nil
}

// Numbered is a page by its number: "page 7 of 53". There are Total items on all Pages.
type Numbered[T any] struct {
	Items       []*T
	Page, Pages int // from 1
	Total       int
}

// NumberedOf returns page with these items, where a page has n of total. Behind the last
// page there are none.
func NumberedOf[T any](items []*T, page, n, total int) Numbered[T] {
	return Numbered[T]{Items: items, Page: page, Pages: (total + n - 1) / n, Total: total}
}

// CheckNumber is CheckPage for a page by its number.
func CheckNumber(listing string, page, n int) error {
	if page < 1 {
		return fmt.Errorf("%s: %w: page %d; the first is page 1", listing, ErrInvalid, page)
	}
	return CheckPage(listing, n)
}

const cursorFormat = 1

// Cursor returns an opaque text, fit for a URL, for a position in a listing such
// as "Page.Newest".
func Cursor(listing string, position []byte) string {
	sum := cursorSum(listing, position)
	b := make([]byte, 0, 1+len(sum)+len(position))
	b = append(append(append(b, cursorFormat), sum[:]...), position...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor returns the position a cursor stands for, or ErrBadCursor if Cursor
// did not make it for this listing. It detects accidents, not forgery: a position
// must be harmless, even if it is made up.
func ParseCursor(listing, cursor string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder passes over line breaks, which no cursor has.
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < 1+cursorSumBytes || b[0] != cursorFormat {
		return nil, badCursor(listing, cursor, "no page has made it")
	}
	position := b[1+cursorSumBytes:]
	if cursorSum(listing, position) != [cursorSumBytes]byte(b[1:]) {
		return nil, badCursor(listing, cursor, "it belongs to another listing, or is cut")
	}
	return position, nil
}

// badCursor names the index that listing is of: what follows says which part of it, in signs
// that are for cursors alone.
func badCursor(listing, cursor, why string) error {
	index := strings.IndexFunc(listing, func(r rune) bool {
		return r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if index >= 0 && strings.Contains(listing[:index], ".") {
		listing = listing[:index]
	}
	return fmt.Errorf("%s: %w %s: %s", listing, ErrBadCursor, briefly(cursor), why)
}

// briefly quotes the beginning of text.
func briefly(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return kv.Quote(text)
}

const cursorSumBytes = 6

func cursorSum(listing string, position []byte) [cursorSumBytes]byte {
	b := make([]byte, 0, binary.MaxVarintLen32+len(listing)+len(position))
	sum := sha256.Sum256(append(wire.AppendText(b, listing), position...))
	return [cursorSumBytes]byte(sum[:])
}
