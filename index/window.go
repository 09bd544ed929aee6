package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type listWindow struct{ *lists }

func (l *lists) Window() plug.Window { return listWindow{l} }

// Kind returns "total" for lists that are read only as numbers.
func (l listWindow) Kind() string {
	if l.total != nil {
		return "total"
	}
	return "list"
}

func (l listWindow) Parted() bool { return true }

func (l listWindow) Bases(place string) []string { return []string{l.logs.Key(place)} }

// Base finds a list by its first segment, which always remains.
func (l listWindow) Base(key string) (base string, first bool) {
	base, rest, ok := plug.BaseAt(key, listKey.Family(l.host.Model(), l.index).Key(""))
	return base, ok && rest == "0"
}

func (l listWindow) Audit(ctx context.Context, s kv.Store, base, place string) (wrong []plug.Wrong, err error) {
	live, soon := make([]int64, len(l.figures)), l.host.DB().Now().Add(endsLate)
	err = l.bare().Entries(ctx, s, base, func(entries []memberlog.Entry) error {
		recs, err := l.seeThoseOf(ctx, s, entries)
		if recs == nil {
			return err
		}
		for i, rec := range recs {
			at, holds := l.placeAt(rec, base)
			if holds {
				place = plug.Bare(at)
			}
			in := entries[i].Member(l.host.DB().Now())
			if in && holds {
				for k := range live {
					live[k] += l.figures[k].share(plug.NoteOf(at))
				}
			}
			if in && !holds && entries[i].Member(soon) && !rec.Damaged() && judgeStray(entries[i], rec, l.host.DB().Now()) != plug.Pending {
				wrong = append(wrong, plug.Wrong{Kind: plug.StrayEntry, ID: rec.ID, Text: fmt.Sprintf("%s: %s is in the list, but its record does not have the value", base, rec.ID)})
			}
		}
		return nil
	})
	if text, ok := plug.Damage(err); ok {
		return append(wrong, plug.Wrong{Kind: plug.DamagedItem, Text: text}), nil
	}
	if err != nil || !l.Counts() {
		return wrong, err
	}
	if place == "" {
		place = l.placeOf(base)
	}
	return l.auditCounts(ctx, s, base, place, live, wrong)
}

func (l listWindow) auditCounts(ctx context.Context, s kv.Store, base, place string, live []int64, wrong []plug.Wrong) ([]plug.Wrong, error) {
	if place == "" {
		return wrong, nil // the value is hashed, and no record holds it
	}
	for i := range l.figures {
		f := &l.figures[i]
		counts, err := f.Counts(ctx, s, []string{place})
		if errors.Is(err, kv.ErrNotNumber) {
			wrong = append(wrong, plug.Wrong{Kind: plug.WrongCount, Text: fmt.Sprintf("%s: %v", base, err)})
			continue
		}
		if err != nil {
			return wrong, err
		}
		says := counts[0]
		if says == tally.None {
			says = 0
		}
		if says != live[i] {
			text := fmt.Sprintf("%s: %d records have the value, but %s is %d", base, live[i], f.Name(), says)
			if f.of != nil {
				text = fmt.Sprintf("%s: the records with the value add up to %d, but %s is %d", base, live[i], f.Name(), says)
			}
			wrong = append(wrong, plug.Wrong{Kind: plug.WrongCount, Text: text})
		}
	}
	return wrong, nil
}

// endsLate bounds the time by which an entry outlives its record.
const endsLate = time.Second

// bare returns logs that use the keys of lists as places, and leave upkeep to others.
func (l listWindow) bare() *memberlog.Logs {
	logs := newLogs(l.host.DB(), listOptions{})
	logs.Key = func(base string) string { return base }
	logs.Soon = func(func(context.Context) error) bool { return false }
	logs.Rebuilds = l.host.Rebuilds
	return logs
}

var _ plug.Fitter = listWindow{}

// Tests make it smaller.
var largeHead = kv.MaxValue / 2

// Fit judges whether the largest list of some records is near its limit.
func (l listWindow) Fit(ctx context.Context, s kv.Store, some []plug.Standing) (unfit []string, err error) {
	if l.total != nil || len(some) == 0 {
		return nil, nil
	}
	all, err := l.bare().Extents(ctx, s, kv.Texts(some, func(at plug.Standing) string { return l.logs.Key(at.Place) }))
	if err != nil {
		return nil, err
	}
	most := slices.MaxFunc(all, func(a, b memberlog.Extent) int { return cmp.Compare(a.Members, b.Members) })
	if most.Head > largeHead {
		unfit = append(unfit, fmt.Sprintf("a list of about %d members has a head of %d KB, of at most %d KB; list=Group with a second field divides it", most.Members, most.Head>>10, kv.MaxValue>>10))
	}
	return unfit, nil
}

func (l listWindow) placeAt(rec *plug.Seen, base string) (place string, holds bool) {
	for _, place := range rec.Places {
		if l.logs.Key(place) == base {
			return place, true
		}
	}
	return "", false
}

func (l listWindow) placeOf(base string) string {
	place := strings.TrimPrefix(base, listKey.Family(l.host.Model(), l.index).Key(""))
	if l.logs.Key(place) != base {
		return ""
	}
	return place
}

// Amend makes the list agree with its records, and recounts it. The next rebuild restores lost and
// damaged parts.
func (l listWindow) Amend(ctx context.Context, s kv.Store, base, place string) error {
	place = plug.Bare(place)
	if place == "" {
		place = l.placeOf(base)
	}
	if place == "" {
		return fmt.Errorf("%s: %w: its value is hashed; Rebuild mends it", base, kvmodel.ErrNeedsRebuild)
	}
	if _, err := l.mendAll(ctx, s, place); isHurt(err) {
		return cmp.Or(l.logs.Discard(ctx, s, place), err)
	} else if err != nil {
		return err
	}
	return l.recount(ctx, s, []string{place}, func(string) error { return nil })
}

func (l listWindow) Page(ctx context.Context, s kv.Store, value string, n int) (rows []plug.Row, err error) {
	w, err := l.bare().After(ctx, s, l.logs.Key(value), nil, n)
	for _, m := range w.Members[:min(n, len(w.Members))] {
		rows = append(rows, plug.Row{ID: m.ID})
	}
	return rows, err
}

func (l listWindow) Picture(ctx context.Context, s kv.Store, value string, most int) (plug.Picture, error) {
	return l.bare().Picture(ctx, s, l.logs.Key(value), most)
}

func (l listWindow) Said(_ string, value []byte) (texts []string, bodies [][]byte) {
	return memberlog.Members(value), nil
}

func (l listWindow) Show(key string, value []byte) ([]string, error) {
	return memberlog.Show(key, value, l.host.DB().Now())
}

type uniqueWindow struct{ *unique }

func (u *unique) Window() plug.Window { return uniqueWindow{u} }

func (u uniqueWindow) Kind() string { return "unique" }

func (u uniqueWindow) Parted() bool { return true }

func (u uniqueWindow) Bases(place string) []string { return []string{u.key(place)} }

func (u uniqueWindow) Base(key string) (base string, first bool) {
	base, _, ok := plug.BaseAt(key, claimKey.Family(u.host.Model(), u.index).Key(""))
	return base, ok
}

// The claim of an expired record expires by itself.
func (u uniqueWindow) Audit(ctx context.Context, s kv.Store, base, _ string) ([]plug.Wrong, error) {
	c, err := u.claimUnder(ctx, s, base)
	if wire.IsCorrupt(err) {
		return []plug.Wrong{{Kind: plug.DamagedItem, Text: err.Error()}}, nil
	}
	if err != nil || c.owner == "" {
		return nil, err
	}
	recs, err := u.host.SeeBare(ctx, s, c.owner)
	if recs == nil {
		return nil, err
	}
	rec := recs[0]
	if rec.Damaged() || u.holdsAt(rec, base) || u.heldAt(rec, base) {
		return nil, nil
	}
	w := plug.Wrong{Kind: plug.StrayEntry, ID: c.owner, Text: fmt.Sprintf("%s: %s claimed the value at rev %d, but its record does not have it", base, c.owner, c.base)}
	if c.judge(rec, false) == plug.Pending {
		w.Kind = plug.PendingEntry
	}
	return []plug.Wrong{w}, nil
}

func (u uniqueWindow) holdsAt(rec *plug.Seen, base string) bool { return u.isAmong(base, rec.Places) }

// heldAt reports whether rec held the value until it expired.
func (u uniqueWindow) heldAt(rec *plug.Seen, base string) bool {
	return rec.Ended && slices.ContainsFunc(rec.Envelope.Lost, func(t envelope.Touched) bool {
		return t.Index == u.index && u.isAmong(base, t.Places)
	})
}

func (u uniqueWindow) isAmong(base string, places []string) bool {
	return slices.ContainsFunc(places, func(place string) bool { return u.key(place) == base })
}

// Amend drops a claim once its change can no longer commit.
func (u uniqueWindow) Amend(ctx context.Context, s kv.Store, base, _ string) error {
	c, err := u.claimUnder(ctx, s, base)
	if err != nil && !wire.IsCorrupt(err) {
		return err
	}
	if wire.IsCorrupt(err) {
		return fmt.Errorf("%w: Rebuild finds whose it is", err)
	}
	wrong, err := u.Audit(ctx, s, base, "")
	if err != nil || len(wrong) == 0 {
		return err
	}
	if wrong[0].Kind == plug.PendingEntry {
		recs, err := u.host.SeeBare(ctx, s, c.owner)
		if err == nil {
			err = u.host.Fence(ctx, s, recs[0])
		}
		if err != nil {
			return err
		}
	}
	_, err = kv.One(ctx, s, kv.OpDrop(base, c.version))
	if kv.Raced(err) {
		return nil
	}
	return err
}

func (u uniqueWindow) Page(ctx context.Context, s kv.Store, value string, _ int) ([]plug.Row, error) {
	f := find{place: value}
	c, err := u.claim(ctx, s, value)
	if err != nil || c.owner == "" {
		return nil, err
	}
	done, err := u.readHolder(ctx, s, &f, c.owner)
	if err != nil || !done {
		return nil, err
	}
	return []plug.Row{{ID: c.owner}}, nil
}

func (u uniqueWindow) Said(_ string, value []byte) (texts []string, bodies [][]byte) {
	var c claim
	c.decode(value)
	return []string{c.owner}, nil
}

func (u uniqueWindow) Show(key string, value []byte) ([]string, error) {
	var c claim
	if !c.decode(value) {
		return nil, wire.Corrupt(key, fmt.Errorf("%w: claim %q", kvmodel.ErrCorrupt, value))
	}
	return []string{fmt.Sprintf("claimed by %s at rev %d", c.owner, c.base)}, nil
}

// Picture is the keys of a list as stored.
type Picture struct {
	Segments []Segment
	Room     int    // about how many members fit in a segment; 0: unknown
	Words    string // what was left out
}

// Segment is one key of a list.
type Segment struct {
	Key   string
	Bytes int
	Live  int // members
	Stale int // entries that a fold drops
}

// Picture returns at most limit segments of the list, and reads no records. Two trips.
func (l *List[T, K]) Picture(ctx context.Context, limit int) (Picture, error) {
	return l.list.picture(ctx, limit)
}

func (l *list) picture(ctx context.Context, limit int) (Picture, error) {
	ctx, end := l.host.Begin(ctx, "Picture")
	defer end()
	if err := l.host.Ready(ctx); err != nil {
		return Picture{}, err
	}
	drawn, err := l.logs.Picture(ctx, kv.Near(l.store), l.place, limit)
	if err != nil {
		return Picture{}, l.failure(err)
	}
	p := Picture{Room: drawn.Room, Words: drawn.Words}
	for _, part := range drawn.Parts {
		p.Segments = append(p.Segments, Segment{part.Key, part.Bytes, part.Live, part.Stale})
	}
	return p, nil
}
