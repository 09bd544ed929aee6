package memberlog

import (
	"context"
	"math"
	"slices"
	"sort"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type found struct {
	part
	index int
	rows  []row // one per member, sorted, in or out; may be shared
}

// load reads the segments that want chooses by index. One trip if the head is remembered, two if
// not, and one more for each replacement by others meanwhile.
func (l *Logs) load(ctx context.Context, s kv.Store, place string, want func(*head) []int) (*head, []found, error) {
	h, conflict := l.heads.get(place), kv.ErrConflict
	for try := range maxTries {
		if try > 0 {
			s = kv.Past(s)
		}
		var all []found
		var err error
		h, all, err = l.loadBy(ctx, s, place, h, want)
		if err != nil {
			return nil, nil, l.failure(place, err)
		}
		if all != nil {
			return h, all, l.failure(place, l.whole(ctx, kv.Past(s), place, h))
		}
		if h == nil {
			conflict = errLost // more may be lost than there are tries
		}
	}
	return nil, nil, l.failure(place, conflict)
}

// loadBy reads the segments named by h, nil if unknown. If h is outdated, it returns no segments
// and the next head to try, nil after replacing a lost segment.
func (l *Logs) loadBy(ctx context.Context, s kv.Store, place string, h *head, want func(*head) []int) (*head, []found, error) {
	known, own := h, l.expected.of(place)
	if h == nil {
		h = noHead()
	}
	chosen := want(h)
	ops := make([]kv.Op, len(chosen), len(chosen)+1)
	for i, at := range chosen {
		ops[i] = kv.Op{Kind: kv.Get, Key: l.key(place, h.parts[at].name), Decode: decodeKept}
	}
	// a list without a head may get one at any time, and a head may be lost
	asks := !h.stored || l.isOld(h)
	if asks {
		ops = append(ops, kv.OpGet(l.Key(place)))
	}
	if err := s.Do(ctx, ops); err != nil {
		return nil, nil, err
	}
	if asks {
		now, err := l.decodeHead(place, ops[len(chosen)].Result)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case h.stored && now.stored && now.namesSame(h):
			h = now
		case h.stored:
			return now, nil, nil
		case now.stored:
			l.retireAgain(now, &ops[0])
			return now, nil, nil
		case known == nil:
			h = now
		}
	}
	now, all, err := l.check(ctx, s, place, h, chosen, ops[:len(chosen)])
	for i := range all {
		all[i].rows = all[i].expect(all[i].rows, own)
	}
	return now, all, err
}

// maxRetired is the size to which unaware writers may let a retired first segment grow.
const maxRetired = 1 << 10

// retireAgain retires the first segment if h does not name it: the process that replaced it may
// have died before, and it must not be used if the head is lost.
func (l *Logs) retireAgain(h *head, get *kv.Op) {
	value := get.Result.Value
	if h.indexOf(name{}) >= 0 || absent(get) || isRetired(value) && len(value) <= maxRetired {
		return
	}
	key := get.Key
	l.Soon(func(ctx context.Context) error {
		_, err := kv.One(ctx, l.Store, kv.OpSet(key, retired))
		return err
	})
}

// check returns the segments read by ops, if all still belong to the list.
func (l *Logs) check(ctx context.Context, s kv.Store, place string, h *head, chosen []int, ops []kv.Op) (*head, []found, error) {
	all := make([]found, len(chosen))
	var doubtful []int
	for i, at := range chosen {
		all[i].part, all[i].index = h.parts[at], at
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
		all[i].rows = g.newest()
		l.notice(place, h, at, g, all[i].rows)
	}
	if len(doubtful) == 0 {
		return h, all, nil
	}
	return l.recheck(ctx, kv.Past(s), place, h, all, ops, doubtful)
}

// recheck reads the head again to find out whether the doubtful segments, sealed or absent, were
// replaced.
func (l *Logs) recheck(ctx context.Context, s kv.Store, place string, h *head, all []found, ops []kv.Op, doubtful []int) (*head, []found, error) {
	now, err := l.readHead(ctx, s, place)
	if err != nil {
		return nil, nil, err
	}
	for _, i := range doubtful {
		n := all[i].name
		if now.indexOf(n) < 0 {
			return now, nil, nil
		}
		if absent(&ops[i]) && !h.stored {
			if now.stored {
				return now, nil, nil // the list has just begun
			}
			continue // the list is empty
		}
		if absent(&ops[i]) || isRetired(ops[i].Result.Value) {
			return nil, nil, l.heal(ctx, s, place, n)
		}
		// the head has named the segment since the seal was seen
		l.tendSoon(place, n)
	}
	return h, all, nil
}

func isRetired(value []byte) bool { return len(value) > 0 && value[0] == retiredFormat }

func (l *Logs) notice(place string, h *head, at int, g *segment, rows []row) {
	h.seen[at].Store(int32(count(rows, l.now())))
	l.reportOverdue(place)
	if l.upkeep(h, at, g, rows) != nothing {
		l.tendSoon(place, h.parts[at].name)
	}
}

func between(rows []row, from, last uint64) []row {
	begin := sort.Search(len(rows), func(i int) bool { return rows[i].hash >= from })
	end := sort.Search(len(rows), func(i int) bool { return rows[i].hash > last })
	return rows[begin:end]
}

type Member = row

type Window struct {
	Members []Member
	Ends    bool // nothing follows in the requested direction
}

// After returns at least n members after from, or all. One trip if the head is remembered, two if
// not; rarely one more.
func (l *Logs) After(ctx context.Context, s kv.Store, place string, from *Position, n int) (Window, error) {
	var w Window
	at := Position{} // the remaining members are here or later
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
			w.add(l.now(), between(f.rows, first, ^uint64(0)), func(p Position) bool { return from == nil || p.Compare(*from) > 0 })
		}
		if last.index == len(h.parts)-1 {
			w.Ends = true
			return w, nil
		}
		if len(w.Members) >= n {
			return w, nil
		}
		at.Hash = last.last() + 1
	}
}

// Before is After for the n members right before to, in list order.
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
			more.add(l.now(), between(f.rows, 0, last), func(p Position) bool { return p.Compare(to) < 0 })
		}
		w.Members = append(more.Members, w.Members...)
		first := all[len(all)-1]
		if w.Ends = first.index == 0; w.Ends || len(w.Members) >= n {
			return w, nil
		}
		last = first.from - 1
	}
}

// add adds the members that suits accepts, without a copy if possible.
func (w *Window) add(now int64, rows []row, suits func(Position) bool) {
	first, end := 0, 0 // the adjacent members
	for i := range rows {
		if r := &rows[i]; !r.member(now) || !suits(r.Position()) {
			continue
		}
		switch {
		case w.Members != nil:
			w.Members = append(w.Members, rows[i])
		case end == 0:
			first, end = i, i+1
		case end == i:
			end++
		default:
			w.Members = append(slices.Clone(rows[first:end]), rows[i])
		}
	}
	if w.Members == nil && end > 0 {
		w.Members = slices.Clip(rows[first:end])
	}
}

const readAtOnce = 32

// enough returns the indexes of parts that probably hold n members beyond hash, from first on.
func (h *head) enough(first, step int, hash uint64, n int) []int {
	p := &h.parts[first]
	width := float64(^uint64(0)>>p.depth) + 1
	share := float64(p.last()-hash) / width
	if step < 0 {
		share = float64(hash-p.from) / width
	}
	need := float64(n) + 2*math.Sqrt(float64(n))
	var chosen []int
	for at := first; at >= 0 && at < len(h.parts) && len(chosen) < readAtOnce; at += step {
		chosen = append(chosen, at)
		if need -= share * float64(h.seen[at].Load()); need <= 0 {
			break
		}
		share = 1
	}
	return chosen
}

// Find returns the counting entries of ids, zero for missing ones. One trip if the head is
// remembered.
func (l *Logs) Find(ctx context.Context, s kv.Store, place string, ids ...string) ([]Entry, error) {
	hashes := make([]uint64, len(ids))
	for i, id := range ids {
		hashes[i] = PositionOf(id).Hash
	}
	h, all, err := l.load(ctx, s, place, func(h *head) []int {
		parts := make([]int, len(ids))
		for i, hash := range hashes {
			parts[i] = h.find(hash)
		}
		slices.Sort(parts)
		return slices.Compact(parts)
	})
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(ids))
	for i, id := range ids {
		part := h.find(hashes[i])
		k := slices.IndexFunc(all, func(f found) bool { return f.index == part })
		for _, r := range between(all[k].rows, hashes[i], hashes[i]) {
			if r.ID == id {
				entries[i] = r.Entry
			}
		}
	}
	return entries, nil
}

// An estimate of a list's size reads about sampled members, in fewestOf to mostOf segments.
const (
	sampled  = 4096
	fewestOf = 4
	mostOf   = 64
)

func (h *head) sample() []int {
	members := 0
	for i := range h.seen {
		members += int(h.seen[i].Load())
	}
	n := sampled*len(h.parts)/max(members, 1) + 1
	n = min(max(n, fewestOf), mostOf, len(h.parts))
	chosen := make([]int, n)
	for i := range chosen {
		chosen[i] = (2*i + 1) * len(h.parts) / (2 * n)
	}
	return chosen
}

// Size estimates the number of members, exactly if it reads all segments. One trip if the head is
// remembered, two if not.
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

// Count reads the whole list.
func (l *Logs) Count(ctx context.Context, s kv.Store, place string) (int, error) {
	n := 0
	err := l.each(ctx, s, place, func(rows []row) error { n += count(rows, l.now()); return nil })
	return n, err
}

// IsBare reports whether nothing is stored of place's list: it is empty or lost. One trip.
func (l *Logs) IsBare(ctx context.Context, s kv.Store, place string) (bool, error) {
	found, err := kv.GetAll(ctx, s, l.Key(place), l.key(place, name{}))
	for _, r := range found {
		if r.Err == nil {
			return false, err
		}
	}
	return true, l.failure(place, err)
}

func count(rows []row, now int64) (n int) {
	for i := range rows {
		if rows[i].member(now) {
			n++
		}
	}
	return n
}

// Digest returns the total weight of the members' notes, and a checksum of members and revs. It
// costs what Count does.
func (l *Logs) Digest(ctx context.Context, s kv.Store, place string, weigh func(note string) int64) (n int64, sum uint64, err error) {
	err = l.each(ctx, s, place, func(rows []row) error {
		now := l.now()
		for i := range rows {
			if r := &rows[i]; r.member(now) {
				n += weigh(r.Note.String())
				sum += (r.hash ^ r.Rev) * 0x9e3779b97f4a7c15
			}
		}
		return nil
	})
	return n, sum, err
}

// Entries calls f with the counting entries, in or out, one segment at a time.
func (l *Logs) Entries(ctx context.Context, s kv.Store, place string, f func([]Entry) error) error {
	return l.eachEntry(ctx, s, place, func(*row) bool { return true }, f)
}

// Open is Entries without those confirmed by a fold.
func (l *Logs) Open(ctx context.Context, s kv.Store, place string, f func([]Entry) error) error {
	return l.eachEntry(ctx, s, place, func(r *row) bool { return l.open(r, l.now()) }, f)
}

func (l *Logs) eachEntry(ctx context.Context, s kv.Store, place string, which func(*row) bool, f func([]Entry) error) error {
	return l.each(ctx, s, place, func(rows []row) error {
		var entries []Entry
		for i := range rows {
			if which(&rows[i]) {
				entries = append(entries, rows[i].Entry)
			}
		}
		return f(entries)
	})
}

func (l *Logs) Each(ctx context.Context, s kv.Store, place string, f func(id string) error) error {
	return l.each(ctx, s, place, func(rows []row) error {
		now := l.now()
		for i := range rows {
			if !rows[i].member(now) {
				continue
			}
			if err := f(rows[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l *Logs) each(ctx context.Context, s kv.Store, place string, f func([]row) error) error {
	var from uint64
	for {
		h, all, err := l.load(ctx, s, place, func(h *head) []int {
			first := h.find(from)
			next := make([]int, min(readAtOnce, len(h.parts)-first))
			for i := range next {
				next[i] = first + i
			}
			return next
		})
		if err != nil {
			return err
		}
		for _, found := range all {
			if err := f(between(found.rows, from, ^uint64(0))); err != nil {
				return err
			}
		}
		last := all[len(all)-1]
		if last.index == len(h.parts)-1 {
			return nil
		}
		from = last.last() + 1
	}
}
