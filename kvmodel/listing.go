package kvmodel

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
)

// Listing is one page of records with the cursors of the adjacent pages, empty if there is none.
// Without an error Items is not nil.
type Listing[T any] struct {
	Items      []*T
	Next, Prev string
}

// Lister is the common interface of rings, lists, boards and spans. An empty cursor means the
// beginning. Page skips records that keep refuses and reads on, up to ten times n records, so a
// short or empty page may have a Next. Only an empty Next is the end.
type Lister[T any] interface {
	Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (Listing[T], error)
}

// MaxPage is the maximum number of items on a page.
const MaxPage = 1000

// CheckPage returns an ErrInvalid unless n is a valid number of items for a page.
func CheckPage(listing string, n int) error {
	if n < 1 || n > MaxPage {
		return fmt.Errorf("%s: %w: a page of %d; it has 1 to %d items", listing, ErrInvalid, n, MaxPage)
	}
	return nil
}

// Numbered is a page by number: "page 7 of 53". All Pages together have Total items.
type Numbered[T any] struct {
	Items       []*T
	Page, Pages int // from 1
	Total       int
}

// NumberedOf returns a page with the given items, n to a page out of total. Pages after the last
// are empty.
func NumberedOf[T any](items []*T, page, n, total int) Numbered[T] {
	return Numbered[T]{Items: items, Page: page, Pages: (total + n - 1) / n, Total: total}
}

// CheckNumber is CheckPage for a page by number.
func CheckNumber(listing string, page, n int) error {
	if page < 1 {
		return fmt.Errorf("%s: %w: page %d; the first is page 1", listing, ErrInvalid, page)
	}
	return CheckPage(listing, n)
}

const cursorFormat = 1

// Cursor returns an opaque text, safe in a URL, for a position in a listing such as "Page.Newest".
func Cursor(listing string, position []byte) string {
	sum := cursorSum(listing, position)
	b := make([]byte, 0, 1+len(sum)+len(position))
	b = append(append(append(b, cursorFormat), sum[:]...), position...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor returns the position of a cursor, or ErrBadCursor if Cursor did not create it for
// this listing. It detects accidents, not forgery: any position must be harmless.
func ParseCursor(listing, cursor string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips line breaks, which no cursor has.
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < 1+cursorSumBytes || b[0] != cursorFormat {
		return nil, badCursor(listing, cursor, "no page has made it")
	}
	position := b[1+cursorSumBytes:]
	if cursorSum(listing, position) != [cursorSumBytes]byte(b[1:]) {
		return nil, badCursor(listing, cursor, "it belongs to another listing, or is cut")
	}
	return position, nil
}

// badCursor names only the index in the error: the rest of listing, in characters reserved for
// cursors, is the part of it.
func badCursor(listing, cursor, why string) error {
	index := strings.IndexFunc(listing, func(r rune) bool {
		return r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if index >= 0 && strings.Contains(listing[:index], ".") {
		listing = listing[:index]
	}
	return fmt.Errorf("%s: %w %s: %s", listing, ErrBadCursor, core.Briefly(cursor), why)
}

const cursorSumBytes = 6

func cursorSum(listing string, position []byte) [cursorSumBytes]byte {
	b := make([]byte, 0, binary.MaxVarintLen32+len(listing)+len(position))
	sum := sha256.Sum256(append(wire.AppendText(b, listing), position...))
	return [cursorSumBytes]byte(sum[:])
}

// Branch is a record in a tree. Depth is 0 for one without a parent.
type Branch[T any] struct {
	Item  *T
	Depth int
}

// Tree returns items, such as all comments of a story, as a tree: each is followed by its children
// in the order of compare, then by the next of its own depth. An item without its parent among
// items, or in a circle, is at depth 0.
func Tree[T any, K comparable](r *Records[T, K], items []*T, parent func(*T) K, compare func(a, b *T) int) []Branch[T] {
	t := tree[T, K]{id: r.ID, children: make(map[K][]*T), placed: make(map[K]bool)}
	there := make(map[K]bool)
	for _, v := range items {
		there[r.ID(v)] = true
	}
	sorted := slices.SortedStableFunc(slices.Values(items), compare)
	var roots []*T
	for _, v := range sorted {
		if p := parent(v); there[p] {
			t.children[p] = append(t.children[p], v)
		} else {
			roots = append(roots, v)
		}
	}
	t.place(roots, 0)
	for _, v := range sorted { // those in a circle
		t.place([]*T{v}, 0)
	}
	return t.branches
}

type tree[T any, K comparable] struct {
	id       func(*T) K
	children map[K][]*T
	placed   map[K]bool
	branches []Branch[T]
}

// place adds the items not placed yet, each followed by its children.
func (t *tree[T, K]) place(items []*T, depth int) {
	for _, v := range items {
		id := t.id(v)
		if t.placed[id] {
			continue
		}
		t.placed[id] = true
		t.branches = append(t.branches, Branch[T]{v, depth})
		t.place(t.children[id], depth+1)
	}
}
