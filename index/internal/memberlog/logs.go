// Package memberlog keeps lists of members on a store that can do no more than
// one key at a time. Writers only append, so that any number of them get on
// without a conflict; what was appended is folded now and then by somebody who
// happens to be there.
//
// A list is a log of entries in one or more segments. A [Logs] holds one list
// for each place. Whoever folds a segment that others write to puts a seal at its
// end, which nothing that counts can follow, copies what stands before the seal
// to a new segment under a name that never was, and makes the head of the list
// name the new one by a single compare-and-swap. Everything before that can be
// ignored, everything after it is cleaning, and any of it may be done by several
// at once or be left half done.
//
// What is kept true:
//
//  1. A segment that the head names and that has no seal is the one to write to.
//  2. What stands before the first seal of a segment never changes.
//  3. Only what was read from a sealed segment is put under a new name.
//  4. An acknowledged entry was in a segment at a moment when that had no seal.
//
// By 4 the entry stands before the seal; by 2 and 3 every later segment has it
// or a newer one; so nothing is lost. Of the entries of a member the one with
// the highest rev counts, and folding keeps that one; so nothing comes back.
package memberlog

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Logs is a list for each place. Its fields are set before it is used. It is
// safe for use by many goroutines at once.
type Logs struct {
	// Key returns the key of a place's head, to which a segment's name is added.
	Key func(place string) string

	// Hot is how often a list is divided from the start: it has 2^Hot segments
	// at least.
	Hot uint8

	// Store is where upkeep is done.
	Store kv.Store

	Now func() time.Time

	// Soon does upkeep in the background, or not at all.
	Soon func(work func(context.Context) error)

	// Rebuilds returns the numbers of the last rebuild that has begun and of the
	// last that has ended. nil: what is lost can only be accepted.
	Rebuilds func(ctx context.Context, s kv.Store) (begun, ended int64, err error)

	Limits Limits

	heads   heads
	tending tending

	// names returns what newName does, where a test takes out all chance.
	names func() name
}

// Limits are the sizes, in bytes, that upkeep goes by.
type Limits struct {
	Split int // of what is folded, from which a segment is divided
	Merge int // of two neighbours together, up to which they are joined
	Slack int // of what folding saves, from which it is worth while
	Look  int // what is appended to a segment, on average, between two looks
	Grace time.Duration
}

// DefaultLimits are for lists that are read by the page: two segments, with what
// is appended to them before somebody folds them, are 64 KiB.
var DefaultLimits = Limits{Split: 24 << 10, Merge: 8 << 10, Slack: 2 << 10, Look: 4 << 10, Grace: 24 * time.Hour}

// maxTries bounds how often one call starts over because others changed what it
// was about.
const maxTries = 16

// errAgain: others have changed the list meanwhile; look again.
var errAgain = errors.New("again")

var nameText = base32.HexEncoding.WithPadding(base32.NoPadding)

// key returns the key of the segment n of place's list.
func (l *Logs) key(place string, n name) string {
	if n == (name{}) {
		return l.Key(place) + "#0"
	}
	return l.Key(place) + "#" + nameText.EncodeToString(n[:])
}

func (l *Logs) newName() (n name) {
	if l.names != nil {
		return l.names()
	}
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(n[:])
	return n
}

// chance is true once in of times, or always if of is 1 or less.
func chance(of int) bool {
	if of <= 1 {
		return true
	}
	var b [4]byte
	_, _ = rand.Read(b[:])
	return int(uint32(b[0])|uint32(b[1])<<8|uint32(b[2])<<16)%of == 0
}

func (l *Logs) now() int64 { return max(l.Now().Unix(), 1) }

func (l *Logs) failure(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("list %q: %w", l.Key(place), err)
}

// decodeHead returns what a get of a list's head answered, and remembers it.
func (l *Logs) decodeHead(place string, r kv.Result) (*head, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		h := noHead()
		l.heads.put(place, h)
		return h, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	if h := l.heads.get(place); h.saysSame(r) {
		return h, nil
	}
	h, err := parseHead(r.Value, r.Version)
	if err != nil {
		return nil, err
	}
	l.heads.put(place, h)
	return h, nil
}

func (l *Logs) readHead(ctx context.Context, s kv.Store, place string) (*head, error) {
	r, err := kv.One(ctx, s, kv.OpGet(l.Key(place)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return l.decodeHead(place, r)
}

// putHead stores h in the place of the head it was made from. An error that is
// gone says that somebody else has changed that meanwhile.
func (l *Logs) putHead(ctx context.Context, s kv.Store, place string, h *head) error {
	op := kv.OpAdd(l.Key(place), h.encode())
	if h.stored {
		op = kv.OpSwap(op.Key, h.version, op.Value)
	}
	_, err := kv.One(ctx, s, op)
	return err
}

// gone tells whether a write was refused because the item is not what it was.
func gone(err error) bool {
	return errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrExists)
}

func unclear(err error) bool { return errors.Is(err, kv.ErrUnclear) }

// decodeSegment returns what a get of a segment answered.
func (l *Logs) decodeSegment(op *kv.Op) (segment, error) {
	g, err := parseSegment(op.Result.Value)
	if err != nil {
		return g, fmt.Errorf("segment %q: %w", op.Key, err)
	}
	return g, nil
}

// absent tells whether the store said that op's key is absent.
func absent(op *kv.Op) bool { return errors.Is(op.Result.Err, kv.ErrNotFound) }

// heads remembers the heads of some lists. An old one costs trips, never an
// entry.
type heads struct {
	mu         sync.Mutex
	young, old map[string]*head
	weight     int // of the young
}

// maxWeight is how many segments the young heads name.
const maxWeight = 1 << 15

func (c *heads) get(place string) *head {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h := c.young[place]; h != nil {
		return h
	}
	h := c.old[place]
	if h != nil {
		c.keep(place, h)
	}
	return h
}

func (c *heads) put(place string, h *head) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(place, h)
}

func (c *heads) drop(place string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.young, place)
	delete(c.old, place)
}

func (c *heads) keep(place string, h *head) {
	if c.young == nil || c.weight >= maxWeight {
		c.young, c.old, c.weight = make(map[string]*head), c.young, 0
	}
	c.young[place] = h
	c.weight += len(h.parts)
}
