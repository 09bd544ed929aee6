// Package memberlog keeps lists of members on a store that changes one key at a
// time. Writers only append, so any number of them work without a conflict. A
// process that reads or writes a list folds now and then what was appended.
//
// A list is a log of entries in one or more segments. A [Logs] holds one list
// for each place. To fold a segment that others write to, a process
//
//   - puts a seal at its end, which nothing that counts can follow,
//   - copies what stands before the seal to a new segment under a name that was
//     never used, and
//   - makes the head of the list name the new segment, by a single
//     compare-and-swap.
//
// Everything before the swap can be ignored, and everything after it is cleaning.
// Several processes may do any of it at once or leave it half done.
//
// What is kept true:
//
//  1. A segment that the head names and that has no seal is the one to write to.
//  2. What stands before the first seal of a segment never changes.
//  3. Only what was read from a sealed segment, or what a record says of that, is
//     put under a new name.
//  4. An acknowledged entry was in a segment at a moment when that had no seal.
//
// By 4 the entry stands before the seal; by 2 and 3 every later segment has it
// or a newer one; so nothing is lost. Of the entries of a member the one with
// the highest rev counts, and folding keeps that one; so nothing comes back.
package memberlog

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unsafe"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Logs is a list for each place. Set its fields before using it. It is then safe
// for concurrent use.
type Logs struct {
	// Key returns the key of a place's head. The keys of its segments begin with
	// it.
	Key func(place string) string

	// Hot is how many times a list is divided from the start: it has at least
	// 2^Hot segments.
	Hot uint8

	// Headed says that each list was made by Begin. So one without a head has lost it.
	Headed bool

	// Store is where upkeep is done.
	Store kv.Store

	Now func() time.Time

	// Soon does upkeep in the background, or returns false and leaves it undone.
	Soon func(work func(context.Context) error) bool

	// Rebuilds returns the numbers of the last rebuild that has begun and of the
	// last that has ended. If it is nil, a loss can only be accepted.
	Rebuilds func(ctx context.Context, s kv.Store) (begun, ended int64, err error)

	// Confirm asks the records of the members of place's list about some entries. Of
	// each it returns what counts: the entry, if the record confirms it at that rev
	// or later; one that says that the member is out, if the record contradicts it;
	// the zero Entry as long as the record is older, since the change that has made
	// the entry may yet commit. If Confirm is nil, all entries are certain.
	Confirm func(ctx context.Context, s kv.Store, place string, entries []Entry) ([]Entry, error)

	// Overdue is called with an entry whose record was older a minute ago.
	Overdue func(place string, e Entry)

	Limits Limits

	heads     heads
	tending   tending
	expected  expected
	pending   pending
	replacing sync.Map // keys of the segments that writers of this process replace

	// names replaces newName in tests without randomness.
	names func() name
}

// Limits are the sizes, in bytes, that upkeep goes by.
type Limits struct {
	Split int // a folded segment larger than this is divided
	Merge int // two neighbors smaller than this together are joined
	Slack int // folding must save more than this to be worthwhile
	Look  int // writers look at a segment once in so many bytes, on average
	Grace time.Duration
}

// DefaultLimits are for lists that are read by the page: two segments, with what
// is appended to them before they are folded, take 64 KiB.
var DefaultLimits = Limits{Split: 24 << 10, Merge: 8 << 10, Slack: 2 << 10, Look: 4 << 10, Grace: 24 * time.Hour}

// maxTries bounds how many times a call starts over because others have changed
// the list.
const maxTries = 16

// errAgain: others may have changed the list; look again.
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
	return name(kv.RandomBytes(len(n)))
}

func (l *Logs) now() int64 { return max(l.Now().Unix(), 1) }

func (l *Logs) failure(place string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("list %q: %w", l.Key(place), err)
}

// decodeHead returns the head that a get of its key answered, and remembers it.
func (l *Logs) decodeHead(place string, r kv.Result) (*head, error) {
	if errors.Is(r.Err, kv.ErrNotFound) && l.Headed {
		l.heads.drop(place)
		return nil, ErrNoHead
	}
	if errors.Is(r.Err, kv.ErrNotFound) {
		h := l.heads.get(place)
		if h == nil || h.stored {
			h = noHead()
		}
		l.rememberHead(place, h)
		return h, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	if h := l.heads.get(place); h.saysSame(r) {
		h.looked.Store(l.Now().UnixNano())
		return h, nil
	}
	h, err := parseHead(r.Value, r.Version)
	if err != nil {
		return nil, wire.Corrupt(l.Key(place), err)
	}
	l.rememberHead(place, h)
	return h, nil
}

func (l *Logs) rememberHead(place string, h *head) {
	h.looked.Store(l.Now().UnixNano())
	l.heads.put(place, h)
}

// isOld reports whether h is not used without asking, beside what it leads to, whether it is
// still the stored one. A segment that was replaced says so by itself, but those of a head that
// was lost do not.
func (l *Logs) isOld(h *head) bool { return l.Now().UnixNano()-h.looked.Load() > int64(times.Head) }

// Forget makes the next use of place's list ask for its head.
func (l *Logs) Forget(place string) { l.heads.drop(place) }

func (l *Logs) readHead(ctx context.Context, s kv.Store, place string) (*head, error) {
	r, err := kv.One(ctx, s, kv.OpGet(l.Key(place)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return l.decodeHead(place, r)
}

// putHead stores h in place of the head it was made from, unless that has changed.
func (l *Logs) putHead(ctx context.Context, s kv.Store, place string, h *head) error {
	_, err := kv.One(ctx, s, kv.OpReplace(l.Key(place), h.version, h.encode()))
	return err
}

func unclear(err error) bool { return errors.Is(err, kv.ErrUnclear) }

// unsettled reports whether err leaves a write to be looked into: someone else was
// first, or it is unclear.
func unsettled(err error) bool { return kv.Raced(err) || unclear(err) }

// decodeSegment returns the segment that a get of its key answered, which others may share.
func (l *Logs) decodeSegment(op *kv.Op) (*segment, error) {
	if kept, ok := op.Result.Decoded.(*segment); ok {
		return kept, nil
	}
	g, err := parseSegment(op.Result.Value)
	return &g, wire.Corrupt(op.Key, err)
}

// decodeKept is the Decoder of segments. It returns them settled, so that no one changes them.
func decodeKept(value []byte) (any, int, error) {
	g, err := parseSegment(value)
	if err != nil {
		return nil, 0, err
	}
	g.settled()
	return &g, len(value) + cap(g.rows)*int(unsafe.Sizeof(row{})), nil
}

// isGone reports whether op, a get of a segment that the head names, has read nothing
// that can be used: it is absent, retired or damaged.
func isGone(op *kv.Op) bool {
	if absent(op) {
		return true
	}
	g, err := parseSegment(op.Result.Value)
	return err != nil || g.retired
}

// absent reports whether the store said that op's key is absent.
func absent(op *kv.Op) bool { return errors.Is(op.Result.Err, kv.ErrNotFound) }

// heads remembers the heads of some lists. An outdated head costs trips, never an
// entry.
type heads struct {
	mu         sync.Mutex
	young, old map[string]*head
	weight     int // how many segments the young heads name
}

// maxWeight bounds how many segments the young heads name.
const maxWeight = 1 << 13

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
	// The place may be a part of a record's text, which must not stay with it.
	c.young[strings.Clone(place)] = h
	c.weight += len(h.parts)
}
