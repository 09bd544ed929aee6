package kvmodel

import (
	"cmp"
	"slices"
	"sync"
)

// cascades are the deletions of a DB whose children are still to be deleted.
type cascades struct {
	mu  sync.Mutex
	all []Cascade
}

// count notes that n more children were deleted.
func (c *cascades) count(model, id string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(model, id)
	if i < 0 {
		i, c.all = len(c.all), append(c.all, Cascade{Model: model, ID: id})
	}
	c.all[i].Deleted += n
}

// end notes that all children are deleted.
func (c *cascades) end(model, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.index(model, id); i >= 0 {
		c.all = slices.Delete(c.all, i, i+1)
	}
}

func (c *cascades) index(model, id string) int {
	return slices.IndexFunc(c.all, func(one Cascade) bool { return one.Model == model && one.ID == id })
}

// now returns those there are, by model and id.
func (c *cascades) now() []Cascade {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.all)
	slices.SortFunc(all, func(a, b Cascade) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.ID, b.ID)) })
	return all
}
