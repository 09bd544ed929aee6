package kvmodel

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// cascades are the deletions of a DB with children left to delete.
type cascades struct {
	mu  sync.Mutex
	all []cascade
}

type cascade struct {
	Cascade
	tried time.Time // time of the last attempt
}

// count records n more deleted children.
func (c *cascades) count(model, id string, n int, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.index(model, id)
	if i < 0 {
		i, c.all = len(c.all), append(c.all, cascade{Cascade: Cascade{Model: model, ID: id}})
	}
	c.all[i].Deleted += n
	c.all[i].tried = now
}

// keep forgets cascades not tried since the given time, unless isNamed.
func (c *cascades) keep(since time.Time, isNamed func(model, id string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = slices.DeleteFunc(c.all, func(one cascade) bool { return one.tried.Before(since) && !isNamed(one.Model, one.ID) })
}

// end records that all children are deleted.
func (c *cascades) end(model, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := c.index(model, id); i >= 0 {
		c.all = slices.Delete(c.all, i, i+1)
	}
}

func (c *cascades) index(model, id string) int {
	return slices.IndexFunc(c.all, func(one cascade) bool { return one.Model == model && one.ID == id })
}

// now returns all cascades, sorted by model and id.
func (c *cascades) now() (all []Cascade) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		all = append(all, one.Cascade)
	}
	slices.SortFunc(all, func(a, b Cascade) int { return cmp.Or(cmp.Compare(a.Model, b.Model), cmp.Compare(a.ID, b.ID)) })
	return all
}
