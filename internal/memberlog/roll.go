package memberlog

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// roll is rollWith for a writer, which does not ask the records.
func (l *Logs) roll(ctx context.Context, s kv.Store, place string, names ...name) error {
	return l.rollWith(ctx, s, place, nil, names...)
}

// rollWith replaces adjacent segments by as many as their members need. Any number of processes may
// do so at once, and die at any point. It returns nil when the segments are replaced, by whomever.
// sure holds confirmed entries.
func (l *Logs) rollWith(ctx context.Context, s kv.Store, place string, sure certain, names ...name) error {
	r := &roll{Logs: l, ctx: ctx, s: s, place: place, names: names, sure: sure}
	for range maxTries {
		if err := r.once(); !errors.Is(err, errAgain) {
			return err
		}
	}
	return kv.ErrConflict
}

// rollAlone is rollWith, unless this process is already replacing n: then it pauses briefly.
func (l *Logs) rollAlone(ctx context.Context, s kv.Store, place string, sure certain, n name) (busy bool, err error) {
	key := l.key(place, n)
	if _, busy := l.replacing.LoadOrStore(key, true); busy {
		kv.Pause(ctx, s, time.Millisecond)
		return true, nil
	}
	defer l.replacing.Delete(key)
	return false, l.rollWith(ctx, s, place, sure, n)
}

// The steps of a roll are named in docs/internals/lists.md.
type roll struct {
	*Logs
	ctx   context.Context
	s     kv.Store
	place string
	names []name
	sure  certain

	head  *head // as last read; names start at first
	first int
	rows  []row
	parts []part
}

var errReplaced = errors.New("replaced")

func (r *roll) once() error {
	for _, step := range []func() error{r.announce, r.seal, r.read, r.copy, r.publish} {
		err := step()
		if errors.Is(err, errReplaced) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return r.retire()
}

func (r *roll) find() (err error) {
	if r.head, err = r.readHead(r.ctx, r.s, r.place); err != nil {
		return err
	}
	if r.first = r.head.indexOfRun(r.names); r.first < 0 {
		return errReplaced
	}
	return nil
}

// announce is C0. If the store cannot refuse an append after a seal, it marks the segments in the
// head, so that a writer that verifies its append there learns of the seal.
func (r *roll) announce() error {
	if err := r.find(); err != nil || kv.PowersOf(r.s).Unless {
		return err
	}
	mine := r.head.with(r.first, 0, nil)
	marked := true
	for i := range r.names {
		p := &mine.parts[r.first+i]
		marked = marked && p.rolling
		p.rolling = true
	}
	if marked {
		return nil
	}
	err := r.putHead(r.ctx, r.s, r.place, mine)
	if err == nil || retryable(err) {
		return errAgain
	}
	return err
}

// seal is C1.
func (r *roll) seal() error {
	ops := make([]kv.Op, len(r.names))
	for i, n := range r.names {
		ops[i] = r.opAppend(r.s, r.key(r.place, n), seal)
	}
	_ = r.s.Do(r.ctx, ops)
	for i := range ops {
		switch err := ops[i].Err(); {
		case err == nil, errors.Is(err, kv.ErrSealed), errors.Is(err, kv.ErrNotStored):
		case unclear(err):
			return errAgain
		default:
			return err
		}
	}
	return nil
}

// read is C2.
func (r *roll) read() error {
	ops := make([]kv.Op, len(r.names))
	for i, n := range r.names {
		ops[i] = kv.OpGet(r.key(r.place, n))
	}
	if err := r.s.Do(r.ctx, ops); err != nil {
		return err
	}
	r.rows = nil
	for i, n := range r.names {
		if absent(&ops[i]) {
			return r.missing(n)
		}
		g, err := r.decodeSegment(&ops[i])
		switch {
		case err != nil:
			return err
		case g.retired:
			return r.missing(n)
		case !g.sealed:
			return r.sealFull(&ops[i], g)
		}
		r.rows = append(r.rows, r.fold(g.newest(), r.sure)...)
	}
	return nil
}

func (r *roll) missing(n name) error {
	if err := r.heal(r.ctx, r.s, r.place, n); err != nil {
		return err
	}
	return errReplaced
}

func (r *roll) sealFull(op *kv.Op, g *segment) error {
	value := append(encodeSegment(r.fold(g.newest(), r.sure)), seal...)
	_, err := kv.One(r.ctx, r.s, kv.OpSwap(op.Key, op.Result.Version, value))
	if err == nil || retryable(err) {
		return errAgain
	}
	return err
}

// copy is C3: it uses names that no other process knows.
func (r *roll) copy() error {
	r.divide()
	rest := make([]int, len(r.parts))
	for i := range rest {
		rest[i] = i
	}
	for range maxTries {
		var again []int
		ops := make([]kv.Op, len(rest))
		for i, at := range rest {
			// After an unclear answer the add may still be carried out, so the name is not reused.
			r.parts[at].name = r.newName()
			ops[i] = kv.OpAdd(r.key(r.place, r.parts[at].name), encodeSegment(r.rowsOf(at)))
		}
		_ = r.s.Do(r.ctx, ops)
		for i, at := range rest {
			switch err := ops[i].Err(); {
			case err == nil:
			case unclear(err), errors.Is(err, kv.ErrExists):
				again = append(again, at)
			default:
				return err
			}
		}
		if rest = again; len(rest) == 0 {
			return nil
		}
	}
	return kv.ErrUnclear
}

func (r *roll) divide() {
	whole := r.head.parts[r.first]
	if len(r.names) == 2 {
		whole.depth--
	}
	size := baseSize(r.rows)
	bits := uint8(0)
	for size>>bits > r.Limits.splitAt(r.head) && bits < 8 {
		bits++
	}
	if whole.depth < r.Hot {
		bits = max(bits, r.Hot-whole.depth)
	}
	r.parts = whole.split(min(bits, maxDepth-whole.depth))
	for i := range r.parts {
		for _, row := range r.rowsOf(i) {
			if row.In {
				r.parts[i].members++
			}
		}
	}
}

func (r *roll) rowsOf(i int) []row {
	p := &r.parts[i]
	return between(r.rows, p.from, p.last())
}

// publish is C4 and C5, the only step that others see. If it is refused, the head tells whether to
// go on.
func (r *roll) publish() error {
	inFlight := false
	for range maxTries {
		next := r.head.with(r.first, len(r.names), r.parts)
		err := r.putHead(r.ctx, r.s, r.place, next)
		if err == nil {
			next.stored = true
			r.rememberHead(r.place, next)
			return nil
		}
		if !retryable(err) {
			if !inFlight {
				r.discard()
			}
			return err
		}
		inFlight = inFlight || unclear(err)
		err = r.find()
		if errors.Is(err, errReplaced) && r.published() {
			return nil
		}
		if errors.Is(err, errReplaced) {
			r.discard()
		}
		if err != nil {
			return err
		}
	}
	return kv.ErrConflict
}

func (r *roll) published() bool {
	for _, p := range r.parts {
		if r.head.indexOf(p.name) >= 0 {
			return true
		}
	}
	return false
}

func (r *roll) discard() {
	ops := make([]kv.Op, len(r.parts))
	for i, p := range r.parts {
		ops[i] = kv.OpDelete(r.key(r.place, p.name))
	}
	_ = r.s.Do(r.ctx, ops)
}

// retire is C6. Every process knows the name of the first segment, so that stays. Leftovers of
// others are garbage.
func (r *roll) retire() error {
	ops := make([]kv.Op, len(r.names))
	for i, n := range r.names {
		if n == (name{}) {
			ops[i] = kv.OpSet(r.key(r.place, n), retired)
		} else {
			ops[i] = kv.OpDelete(r.key(r.place, n))
		}
	}
	_ = r.s.Do(r.ctx, ops)
	return nil
}
