package memberlog

import (
	"context"
	"math"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// found is a segment as it was read, while the head named it.
type found struct {
	part
	place int   // in the head
	rows  []row // of each member, in order, those that are out among them
}

// load reads the segments of place's list that want chooses by their places in
// the head. The result has them in the order of want's answer. One trip if the
// head is remembered, two if not, and one more for every time that others have
// replaced a segment meanwhile.
func (l *Logs) load(ctx context.Context, s kv.Store, place string, want func(*head) []int) (*head, []found, error) {
	h := l.heads.get(place)
	for range maxTries {
		var all []found
		var err error
		h, all, err = l.loadBy(ctx, s, place, h, want)
		if err != nil {
			return nil, nil, l.failure(place, err)
		}
		if all != nil {
			return h, all, l.failure(place, l.whole(ctx, s, place, h))
		}
	}
	return nil, nil, l.failure(place, kv.ErrConflict)
}

// loadBy reads the segments by what h says of them; nil stands for a head that
// is not known. It returns no segments, and the head to go by next, if h turns
// out to be an old one.
func (l *Logs) loadBy(ctx context.Context, s kv.Store, place string, h *head, want func(*head) []int) (*head, []found, error) {
	known := h
	if h == nil {
		h = noHead()
	}
	places := want(h)
	ops := make([]kv.Op, len(places), len(places)+1)
	for i, at := range places {
		ops[i] = kv.OpGet(l.key(place, h.parts[at].name))
	}
	// A list without a head may get one at any time.
	if !h.stored {
		ops = append(ops, kv.OpGet(l.Key(place)))
	}
	if err := s.Do(ctx, ops); err != nil {
		return nil, nil, err
	}
	if !h.stored {
		now, err := l.decodeHead(place, ops[len(places)].Result)
		if err != nil {
			return nil, nil, err
		}
		if now.stored {
			l.retireAgain(now, &ops[0])
			return now, nil, nil
		}
		if known == nil {
			h = now
		}
	}
	return l.check(ctx, s, place, h, places, ops[:len(places)])
}

// maxRetired is how long a retired first segment may grow. A writer that does
// not know yet that there are others appends to it in vain.
const maxRetired = 1 << 10

// retireAgain marks the first segment, which get has read, as retired if h does
// not name it: whoever replaced it may have died before that, and it must not
// come back to life if the head is lost.
func (l *Logs) retireAgain(h *head, get *kv.Op) {
	value := get.Result.Value
	if h.place(name{}) >= 0 || absent(get) || isRetired(value) && len(value) <= maxRetired {
		return
	}
	key := get.Key
	l.Soon(func(ctx context.Context) error {
		_, err := kv.One(ctx, l.Store, kv.OpSet(key, retired))
		return err
	})
}

// check returns what the gets of h's segments have found, if all of them are
// still those that the list consists of.
func (l *Logs) check(ctx context.Context, s kv.Store, place string, h *head, places []int, ops []kv.Op) (*head, []found, error) {
	all := make([]found, len(places))
	var doubtful []int
	for i, at := range places {
		all[i].part, all[i].place = h.parts[at], at
		if absent(&ops[i]) {
			doubtful = append(doubtful, i)
			continue
		}
		g, err := l.decodeSegment(&ops[i])
		if err != nil {
			return nil, nil, err
		}
		if g.sealed {
			doubtful = append(doubtful, i)
		}
		all[i].rows = g.settled()
		l.notice(place, h, at, &g, all[i].rows)
	}
	if len(doubtful) == 0 {
		return h, all, nil
	}
	return l.settle(ctx, s, place, h, all, ops, doubtful)
}

// settle finds out, by the head as it is now, whether doubtful segments, which
// were sealed or absent, were replaced.
func (l *Logs) settle(ctx context.Context, s kv.Store, place string, h *head, all []found, ops []kv.Op, doubtful []int) (*head, []found, error) {
	now, err := l.readHead(ctx, s, place)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range doubtful {
		n := all[i].name
		if now.place(n) < 0 {
			return now, nil, nil
		}
		if absent(&ops[i]) && !h.stored {
			if now.stored {
				return now, nil, nil // a list that was just begun
			}
			continue // an empty one
		}
		if absent(&ops[i]) || isRetired(ops[i].Result.Value) {
			return nil, nil, l.heal(ctx, s, place, n)
		}
		// It has held since the seal was seen that the head names the segment.
		l.tendSoon(place, n)
	}
	return h, all, nil
}

func isRetired(value []byte) bool { return len(value) > 0 && value[0] == retiredFormat }

// notice remembers how many members a segment has, and sees to it that somebody
// tends it.
func (l *Logs) notice(place string, h *head, at int, g *segment, rows []row) {
	h.seen[at].Store(int32(count(rows, l.now())))
	if l.needsTending(h, at, g, rows) {
		l.tendSoon(place, h.parts[at].name)
	}
}

// between returns the rows, which are in order, from the hash from to last.
func between(rows []row, from, last uint64) []row {
	begin, _ := slices.BinarySearchFunc(rows, from, func(r row, hash uint64) int {
		if r.hash < hash {
			return -1
		}
		return 1
	})
	end, _ := slices.BinarySearchFunc(rows, last, func(r row, hash uint64) int {
		if r.hash <= hash {
			return -1
		}
		return 1
	})
	return rows[begin:end]
}

// Member is one of a list.
type Member struct {
	Position
	Rev uint64 // at which it came in, or was confirmed
}

// Window is a stretch of a list, in order.
type Window struct {
	Members []Member
	Ends    bool // nothing follows in the direction that was asked for
}

// After returns at least n members that stand after from, or all there are. One
// trip if the head is remembered, two if not, and seldom one more.
func (l *Logs) After(ctx context.Context, s kv.Store, place string, from *Position, n int) (Window, error) {
	var w Window
	at := Position{} // the rest stands here or after
	for {
		first := at.Hash
		if from != nil {
			first = max(first, from.Hash)
		}
		h, all, err := l.load(ctx, s, place, func(h *head) []int { return h.enough(h.find(first), 1, first, n-len(w.Members)) })
		if err != nil {
			return Window{}, err
		}
		last := all[len(all)-1]
		for _, f := range all {
			w.take(l.now(), between(f.rows, first, ^uint64(0)), func(p Position) bool { return from == nil || p.compare(*from) > 0 })
		}
		if last.place == len(h.parts)-1 {
			w.Ends = true
			return w, nil
		}
		if len(w.Members) >= n {
			return w, nil
		}
		at.Hash = last.last() + 1
	}
}

// Before returns, in order, at least n members that stand before to, the
// nearest, or all there are. It costs as After.
func (l *Logs) Before(ctx context.Context, s kv.Store, place string, to Position, n int) (Window, error) {
	var w Window
	last := to.Hash
	for {
		_, all, err := l.load(ctx, s, place, func(h *head) []int { return h.enough(h.find(last), -1, last, n-len(w.Members)) })
		if err != nil {
			return Window{}, err
		}
		var more Window
		for _, f := range slices.Backward(all) {
			more.take(l.now(), between(f.rows, 0, last), func(p Position) bool { return p.compare(to) < 0 })
		}
		w.Members = append(more.Members, w.Members...)
		first := all[len(all)-1]
		if w.Ends = first.place == 0; w.Ends || len(w.Members) >= n {
			return w, nil
		}
		last = first.from - 1
	}
}

// take adds the members among rows whose places suit.
func (w *Window) take(now int64, rows []row, suits func(Position) bool) {
	if w.Members == nil {
		w.Members = make([]Member, 0, len(rows))
	}
	for i := range rows {
		if r := &rows[i]; r.member(now) && suits(r.position()) {
			w.Members = append(w.Members, Member{r.position(), r.Rev})
		}
	}
}

// readAtOnce is how many segments are read in one trip at most.
const readAtOnce = 32

// enough returns the places of the parts, from the one at first in steps of
// step, which probably hold n members beyond hash.
func (h *head) enough(first, step int, hash uint64, n int) []int {
	p := &h.parts[first]
	width := float64(^uint64(0)>>p.depth) + 1
	share := float64(p.last()-hash) / width
	if step < 0 {
		share = float64(hash-p.from) / width
	}
	// Two standard deviations more than is needed are seldom too few.
	need := float64(n) + 2*math.Sqrt(float64(n))
	var places []int
	for at := first; at >= 0 && at < len(h.parts) && len(places) < readAtOnce; at += step {
		places = append(places, at)
		if need -= share * float64(h.seen[at].Load()); need <= 0 {
			break
		}
		share = 1
	}
	return places
}

// Contains tells whether id is a member. One trip if the head is remembered.
func (l *Logs) Contains(ctx context.Context, s kv.Store, place, id string) (bool, error) {
	e, err := l.Entry(ctx, s, place, id)
	return e.member(l.now()), err
}

// Entry returns what counts of what was said of id, the zero Entry if nothing
// was.
func (l *Logs) Entry(ctx context.Context, s kv.Store, place, id string) (Entry, error) {
	p := PositionOf(id)
	_, all, err := l.load(ctx, s, place, func(h *head) []int { return []int{h.find(p.Hash)} })
	if err != nil {
		return Entry{}, err
	}
	for _, r := range between(all[0].rows, p.Hash, p.Hash) {
		if r.ID == id {
			return r.Entry, nil
		}
	}
	return Entry{}, nil
}

// An estimate of a list's size is made from so many members, in so many segments.
const (
	sampled  = 4096
	fewestOf = 4
	mostOf   = 64
)

// sample returns the places of parts that lie evenly over h and probably hold as
// many members as an estimate needs.
func (h *head) sample() []int {
	members := 0
	for i := range h.seen {
		members += int(h.seen[i].Load())
	}
	n := sampled*len(h.parts)/max(members, 1) + 1
	n = min(max(n, fewestOf), mostOf, len(h.parts))
	places := make([]int, n)
	for i := range places {
		places[i] = (2*i + 1) * len(h.parts) / (2 * n)
	}
	return places
}

// Size returns about how many members there are: those of some segments, over
// their share of all hashes. It is exact if those are all segments. One trip if
// the head is remembered, two if not.
func (l *Logs) Size(ctx context.Context, s kv.Store, place string) (int, error) {
	_, all, err := l.load(ctx, s, place, (*head).sample)
	if err != nil {
		return 0, err
	}
	members, share := 0, 0.0
	for _, f := range all {
		members += count(f.rows, l.now())
		share += f.share()
	}
	return int(math.Round(float64(members) / share)), nil
}

// Count returns how many members there are. It reads the whole list, some
// segments a trip.
func (l *Logs) Count(ctx context.Context, s kv.Store, place string) (int, error) {
	n := 0
	err := l.each(ctx, s, place, func(rows []row) bool { n += count(rows, l.now()); return true })
	return n, err
}

func count(rows []row, now int64) (n int) {
	for i := range rows {
		if rows[i].member(now) {
			n++
		}
	}
	return n
}

// Each calls f with the ids of the members, those of some segments at a time,
// until f returns false.
func (l *Logs) Each(ctx context.Context, s kv.Store, place string, f func(ids []string) bool) error {
	return l.each(ctx, s, place, func(rows []row) bool {
		ids := make([]string, 0, len(rows))
		for i := range rows {
			if rows[i].member(l.now()) {
				ids = append(ids, rows[i].ID)
			}
		}
		return len(ids) == 0 || f(ids)
	})
}

// each calls f with the rows of every segment until f returns false.
func (l *Logs) each(ctx context.Context, s kv.Store, place string, f func([]row) bool) error {
	var from uint64
	for {
		h, all, err := l.load(ctx, s, place, func(h *head) []int {
			first := h.find(from)
			places := make([]int, 0, readAtOnce)
			for at := first; at < len(h.parts) && len(places) < readAtOnce; at++ {
				places = append(places, at)
			}
			return places
		})
		if err != nil {
			return err
		}
		for _, found := range all {
			if !f(between(found.rows, from, ^uint64(0))) {
				return nil
			}
		}
		last := all[len(all)-1]
		if last.place == len(h.parts)-1 {
			return nil
		}
		from = last.last() + 1
	}
}
