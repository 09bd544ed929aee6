package kvmodel

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
)

// Listing is one page of records with the cursors of the adjacent pages, empty if there is none.
// Without an error Items is not nil.
type Listing[T any] struct {
	Items      []*T
	Next, Prev string
}

// Lister is the common interface of rings, lists, boards and spans. An empty cursor means the
// beginning. Page skips a record if a keep returns false, and reads on, up to ten times n records,
// so a short or empty page may have a Next. Only an empty Next is the end.
type Lister[T any] interface {
	Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (Listing[T], error)
}

// MaxPage is the maximum number of items on a page.
const MaxPage = plug.MaxPage

// Numbered is a page by number: "page 7 of 53". All Pages together have Total items.
type Numbered[T any] struct {
	Items       []*T
	Page, Pages int // from 1
	Total       int
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
