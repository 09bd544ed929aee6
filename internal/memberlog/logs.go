// Package memberlog keeps lists of members on a store that changes one key at a time. Writers only
// append, so any number of them can work without conflicts. Processes that read or write a list
// fold it from time to time.
//
// A list is a log of entries in one or more segments. A [Logs] holds one list for each place. To
// fold a segment that others write to, a process
//
//   - appends a seal, after which no entry counts,
//   - copies everything before the seal to a new segment with a new name, and
//   - makes the head of the list name the new segment, by a single compare-and-swap.
//
// Everything before the swap can be ignored, and everything after it is cleanup. Several processes
// may do any of it concurrently or leave it unfinished.
//
// Invariants:
//
//  1. A segment that the head names and that has no seal accepts writes.
//  2. Entries before the first seal of a segment never change.
//  3. A new name holds only entries read from a sealed segment, or the records' confirmation of
//     these.
//  4. An acknowledged entry was in a segment at a time when that had no seal.
//
// By 4 the entry is before the seal; by 2 and 3 every later segment has it or a newer one; so
// nothing is lost. Of a member's entries the one with the highest rev counts, and folding keeps
// that one; so nothing comes back.
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

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Logs is one list for each place. Set its exported fields before use; then it is safe for
// concurrent use.
type Logs struct {
	// Key returns the key of a place's head, a prefix of the keys of its segments.
	Key func(place string) string

	// A list has at least 2^Hot segments.
	Hot uint8

	// Headed: Begin has created each list, so the absence of a head is a loss.
	Headed bool

	Store kv.Store

	Now func() time.Time

	Soon func(work func(context.Context) error) bool

	// Rebuilds returns the numbers of the last rebuild to begin and the last to end. If nil, losses
	// can only be accepted.
	Rebuilds func(ctx context.Context, s kv.Store) (begun, ended int64, err error)

	// Confirm asks the records about entries. For each it returns the same entry if the record
	// confirms it, one that says out if the record contradicts it, and the zero Entry while it is
	// pending. If nil, all entries are certain.
	Confirm func(ctx context.Context, s kv.Store, place string, entries []Entry) ([]Entry, error)

	// Overdue is called with an entry that was pending a minute ago.
	Overdue func(place string, e Entry)

	Limits Limits

	heads     heads
	tending   tending
	expected  expected
	pending   pending
	replacing sync.Map // keys of the segments that this process is replacing

	// names replaces newName in tests.
	names func() name
}

// Limits are sizes in bytes that trigger upkeep.
type Limits struct {
	Split int // a larger folded segment is divided, see splitAt
	Most  int // the maximum of what Split grows to
	Merge int // two neighbors smaller than this together are joined
	Slack int // folding must save more than this
	Look  int // average bytes between two looks of writers at a segment
	Grace time.Duration
}

// DefaultLimits keep two segments with their tails within 64 KiB.
var DefaultLimits = Limits{Split: 24 << 10, Merge: 8 << 10, Slack: 2 << 10, Look: 4 << 10, Grace: 24 * time.Hour}

// localLimits keep segments small: on a local store a trip costs nothing, and an append copies the
// segment.
var localLimits = Limits{Split: 4 << 10, Most: 24 << 10, Merge: 1 << 10, Slack: 512, Look: 1 << 10, Grace: 24 * time.Hour}

// LimitsOn returns the limits for lists on s.
func LimitsOn(s kv.Store) Limits {
	if kv.PowersOf(s).Local {
		return localLimits
	}
	return DefaultLimits
}

// splitAt returns the size above which a segment of h is divided. It grows with the head, which each
// division writes.
func (l *Limits) splitAt(h *head) int { return max(l.Split, min(64*len(h.parts), l.Most)) }

const maxTries = 16

// errAgain: the list may have changed, so look again.
var errAgain = errors.New("again")

var nameText = base32.HexEncoding.WithPadding(base32.NoPadding)

func (l *Logs) key(place string, n name) string { return keyIn(l.Key(place), n) }

// keyIn returns the key of segment n of the list with this head.
func keyIn(head string, n name) string {
	if n == (name{}) {
		return head + "#0"
	}
	return head + "#" + nameText.EncodeToString(n[:])
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

// Begin creates place's list with a head, so that any loss of it is noticed.
func (l *Logs) Begin(ctx context.Context, s kv.Store, place string) error {
	ops := []kv.Op{kv.OpAdd(l.key(place, name{}), encodeSegment(nil)), kv.OpAdd(l.Key(place), noHead().encode())}
	_ = s.Do(ctx, ops) // each op has its own result
	for i := range ops {
		if err := ops[i].Err(); err != nil && !errors.Is(err, kv.ErrExists) {
			return l.failure(place, err)
		}
	}
	l.heads.drop(place)
	return nil
}

// First returns the key of the first segment of a Headed list, which stays.
func (l *Logs) First(place string) string { return l.key(place, name{}) }

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

// isOld reports whether h must be verified. A replaced segment shows itself, but the segments of a
// lost head do not.
func (l *Logs) isOld(h *head) bool { return l.Now().UnixNano()-h.looked.Load() > int64(times.Head) }

// Forget drops the cached head.
func (l *Logs) Forget(place string) { l.heads.drop(place) }

func (l *Logs) readHead(ctx context.Context, s kv.Store, place string) (*head, error) {
	r, err := kv.One(ctx, s, kv.OpGet(l.Key(place)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	return l.decodeHead(place, r)
}

// putHead fails if the head has changed since h was read.
func (l *Logs) putHead(ctx context.Context, s kv.Store, place string, h *head) error {
	_, err := kv.One(ctx, s, kv.OpReplace(l.Key(place), h.version, h.encode()))
	return err
}

func unclear(err error) bool { return errors.Is(err, kv.ErrUnclear) }

func retryable(err error) bool { return kv.Raced(err) || unclear(err) }

// The segment may be shared.
func (l *Logs) decodeSegment(op *kv.Op) (*segment, error) {
	if kept, ok := op.Result.Decoded.(*segment); ok {
		return kept, nil
	}
	g, err := parseSegment(op.Result.Value)
	return &g, wire.Corrupt(op.Key, err)
}

// Shared segments hold only their newest rows, so nobody changes them.
func decodeKept(value []byte) (any, int, error) {
	g, err := parseSegment(value)
	if err != nil {
		return nil, 0, err
	}
	g.newest()
	return &g, len(value) + cap(g.rows)*int(unsafe.Sizeof(row{})), nil
}

func isGone(op *kv.Op) bool {
	if absent(op) {
		return true
	}
	g, err := parseSegment(op.Result.Value)
	return err != nil || g.retired
}

func absent(op *kv.Op) bool { return errors.Is(op.Result.Err, kv.ErrNotFound) }

// heads caches heads. An outdated head costs trips, never an entry.
type heads struct{ recent kept.Recent[string, *head] }

func (c *heads) get(place string) *head {
	h, _ := c.recent.Get(place)
	return h
}

func (c *heads) put(place string, h *head) {
	// place may be part of a record's text, which must not be kept alive
	c.recent.Put(strings.Clone(place), h, len(h.parts))
}

func (c *heads) drop(place string) { c.recent.Drop(place) }
