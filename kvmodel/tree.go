package kvmodel

import "slices"

// Branch is a record in a tree. Depth is 0 for one without a parent.
type Branch[T any] struct {
	Item  *T
	Depth int
}

// Tree returns items, such as all comments of a story, as a tree from top to bottom: each is
// followed by those whose parent it is, in the order of compare, as by slices.SortFunc, and then
// by the next of its own depth. An item whose parent is not among items stands at depth 0, and so
// does the first of those that are parents of each other. It asks nothing of the store.
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

// tree is a Tree that is being made.
type tree[T any, K comparable] struct {
	id       func(*T) K
	children map[K][]*T
	placed   map[K]bool
	branches []Branch[T]
}

// place adds those of items that are not placed yet, each followed by what is below it.
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
