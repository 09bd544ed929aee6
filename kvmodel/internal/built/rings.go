package built

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Releases may give one ring different shapes. The built item names the shapes that its
// entries may stand in, and every process, of whichever release, reads all of them. A
// new shape is named first, as coming, and written once no reader is left that does not
// know of it. So the processes need not know what releases there are.

// A Ring is what the item says of a ring: the shapes that its entries may stand in, the
// one to be written last. A shape is SIZExSEGMENT.
type Ring struct {
	Shapes []string // the earliest first
	coming string   // the token of the last one, which is not written yet; "": it is
}

// Written returns which of r.Shapes new entries go to. There is one if r has any shapes.
func (r Ring) Written() int {
	if r.coming != "" {
		return len(r.Shapes) - 2
	}
	return len(r.Shapes) - 1
}

// wants reports whether a release with the shape own is to have it written from now on.
// A shorter ring is shown from a longer one. One of the same length that was there before
// may be of a release that is rolled back, or of the one before.
func (r Ring) wants(own string) bool {
	if len(r.Shapes) == 0 {
		return true
	}
	last := sizeOf(r.Shapes[len(r.Shapes)-1])
	return r.coming == "" && (sizeOf(own) > last || sizeOf(own) == last && !slices.Contains(r.Shapes, own))
}

// with returns r with own as the shape that is coming.
func (r Ring) with(own string) Ring {
	others := slices.DeleteFunc(slices.Clone(r.Shapes), func(s string) bool { return s == own })
	return Ring{append(others, own), newBirth()}
}

func sizeOf(shape string) int {
	size, _, _ := strings.Cut(shape, "x")
	n, _ := strconv.Atoi(size)
	return n
}

// isBad reports whether text is not SIZExSEGMENT.
func isBad(text string) bool {
	_, segment, _ := strings.Cut(text, "x")
	n, err := strconv.Atoi(segment)
	return err != nil || n < 1 || sizeOf(text) < 1
}

const (
	saysRing   = "~"
	saysComing = "coming"
)

// encode returns what the item says of the ring of that name.
func (r Ring) encode(name string) string {
	text := saysRing + name + " " + strings.Join(r.Shapes, " ")
	if r.coming != "" {
		text += " " + saysComing + " " + r.coming
	}
	return text
}

// decodeRing returns the ring that text, without what it begins with, is about.
func decodeRing(text string) (name string, r Ring, ok bool) {
	words := strings.Split(text, " ")
	if n := len(words) - 2; n > 2 && words[n] == saysComing {
		words, r.coming = words[:n], words[n+1]
	}
	r.Shapes = words[1:]
	return words[0], r, len(r.Shapes) > 0 && !slices.ContainsFunc(r.Shapes, isBad)
}

// rings is what a process knows of the rings of a model.
type rings struct {
	asked time.Time // when the item was asked for; zero: never
	named map[string]Ring
	came  map[string]time.Time // by the token of what is coming: when it was first seen
}

// noteRings remembers what v says of rings.
func (b *Item) noteRings(v view) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	if v.asked.Before(b.rings.asked) {
		return
	}
	came := make(map[string]time.Time)
	for _, r := range v.rings {
		if since, known := b.rings.came[r.coming]; known {
			came[r.coming] = since
		} else if r.coming != "" {
			came[r.coming] = b.Now()
		}
	}
	b.rings = rings{v.asked, v.rings, came}
}

// Ring returns what is known of the ring of that name, and whether that may be used to
// read it. Without shapes, nothing has said yet which there are.
func (b *Item) Ring(name string) (r Ring, fresh bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	return b.rings.named[name], !b.rings.asked.IsZero() && (b.Atomic != nil || b.Now().Sub(b.rings.asked) < times.Head)
}

// RingsRead returns when what is known of rings was asked for.
func (b *Item) RingsRead() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	return b.rings.asked
}

// IsComing reports whether a shape of a ring of this model is not written yet.
func (b *Item) IsComing() bool {
	for name := range b.Rings() {
		if r, _ := b.Ring(name); r.coming != "" {
			return true
		}
	}
	return false
}

// Tend does, in a process that writes the model, what is due in the item.
func (b *Item) Tend(ctx context.Context) error {
	b.mu.Lock()
	claimed := b.claimed != ""
	b.mu.Unlock()
	if !claimed {
		return nil
	}
	return b.tend(ctx)
}

// tend lets the item name the shapes of this model's rings, and lets those be written
// that have been coming until no reader is left that does not know of them.
func (b *Item) tend(ctx context.Context) error { return b.nameRings(ctx, b.tended) }

// MayForget reports whether Forget has something to do.
func (b *Item) MayForget() bool {
	_, change := b.kept(b.known())
	return change
}

// Forget takes shapes out of the item that are older than this model's own and that its
// release does not know any more. No one may write them, and their entries have to stand
// in the new one as well.
func (b *Item) Forget(ctx context.Context) error { return b.nameRings(ctx, b.kept) }

// nameRings lets the item say of rings what edit makes of what it says.
func (b *Item) nameRings(ctx context.Context, edit func(map[string]Ring) (all map[string]Ring, change bool)) error {
	if _, change := edit(b.known()); !change {
		return nil
	}
	return kv.Change(builtKey.Key(b.Model), func() error {
		v, err := b.begin(ctx)
		if err != nil {
			return err
		}
		rings, change := edit(v.rings)
		if !change {
			return nil
		}
		v.rings, v.asked = rings, b.Now()
		if err = b.put(ctx, b.Store, v, v.head.Birth, v.indexes); err == nil {
			if b.Atomic != nil {
				v.asked = b.Now() // No look that was under way knows better.
			}
			b.noteRings(v)
		}
		return err
	})
}

func (b *Item) known() map[string]Ring {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current()
	return b.rings.named
}

// tended returns what the item is to say of rings that it names as in named.
func (b *Item) tended(named map[string]Ring) (all map[string]Ring, change bool) {
	all = make(map[string]Ring)
	for name, r := range named {
		if all[name] = r; r.coming != "" && b.isRipe(r.coming) {
			all[name], change = Ring{Shapes: r.Shapes}, true
		}
	}
	for name, shapes := range b.Rings() {
		switch r := all[name]; {
		case len(r.Shapes) == 0:
			// No one has written the ring, or the item that named its shapes was lost.
			all[name], change = Ring{Shapes: shapes}, true
		case r.wants(shapes[len(shapes)-1]):
			all[name], change = r.with(shapes[len(shapes)-1]), true
			if b.Atomic != nil {
				all[name] = Ring{Shapes: all[name].Shapes} // All readers are in this process.
			}
		}
	}
	return all, change
}

// kept returns what is left of named without what Forget takes out.
func (b *Item) kept(named map[string]Ring) (all map[string]Ring, change bool) {
	all = maps.Clone(named)
	for name, shapes := range b.Rings() {
		r := all[name]
		if r.coming != "" || len(r.Shapes) == 0 || r.Shapes[len(r.Shapes)-1] != shapes[len(shapes)-1] {
			continue
		}
		known := slices.DeleteFunc(slices.Clone(r.Shapes), func(s string) bool { return !slices.Contains(shapes, s) })
		if len(known) < len(r.Shapes) {
			all[name], change = Ring{Shapes: known}, true
		}
	}
	return all, change
}

// isRipe reports whether every reader knows by now of what is coming under token.
func (b *Item) isRipe(token string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, known := b.rings.came[token]
	return known && b.Now().Sub(since) >= times.Leaves
}

// begunRings returns the rings of a model that begins now.
func (b *Item) begunRings() map[string]Ring {
	all := make(map[string]Ring)
	for name, shapes := range b.Rings() {
		all[name] = Ring{Shapes: shapes[len(shapes)-1:]}
	}
	return all
}
