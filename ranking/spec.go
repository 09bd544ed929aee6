package ranking

import (
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Spec describes a board. kvgen writes it from the tags.
type Spec[T, S any] struct {
	Name string // TopPrice: unique in the model, part of the board's stored keys
	Def  string // the definition; the board must be rebuilt when it changes

	Of    ScoreOf[S]
	Score func(*T) S    // of a record; nil for a board by Counter
	If    func(*T) bool // selects the records on the board; nil: all

	Low  bool // lowest score first
	Ties Ties
	Made func(*T) time.Time // the creation time, for Newest and Oldest; it never changes

	// Counter, if not nil, replaces the field as the source of scores. If Score is set as well, it
	// gives the scores, and the board calls it again whenever the counter changes.
	Counter kvmodel.Counter
	Also    []kvmodel.Counter // with Score: other counters to watch
	Batch   Batch
	Per     Period // with a Counter: one board for each period, with its counts
	Keep    int    // number of kept periods; 0 means 2
}

// Ties is the order and the ranks of records with equal scores.
type Ties int

// With NoTies, Shared and Dense, records with equal scores are in an arbitrary fixed order.
const (
	NoTies Ties = iota // different ranks: 1, 2, 3, 4
	Shared             // a gap after a shared rank: 1, 2, 2, 4
	Dense              // without a gap: 1, 2, 2, 3
	Newest             // newest first, ranked as with NoTies
	Oldest             // oldest first, ranked as with NoTies
)

func (t Ties) ranks() keytree.Ranks {
	switch t {
	case Shared:
		return keytree.Shared
	case Dense:
		return keytree.Dense
	}
	return keytree.Single
}

func (t Ties) byTime() bool { return t == Newest || t == Oldest }

// newerAbove: a board with the lowest score first reads the tree from below.
func (t Ties) newerAbove(low bool) bool { return (t == Newest) != low }

func (t Ties) tie(made time.Time, low bool) uint64 {
	tie := keytree.TieAt(made)
	if !t.newerAbove(low) {
		tie = keytree.MaxTie - tie
	}
	return tie
}

// form returns the suffix of tree names for these ties, since their nodes differ.
func (t Ties) form(low bool) string {
	switch {
	case t == Dense:
		return ".dense"
	case t.byTime() && t.newerAbove(low):
		return ".newer"
	case t.byTime():
		return ".older"
	}
	return ""
}

// Period is a calendar period, in UTC.
type Period int

// A week begins on Monday.
const (
	Forever Period = iota
	Hour
	Day
	Week
	Month
)

const keptByDefault = 2

func (p Period) begin(t time.Time) time.Time {
	t = t.UTC()
	switch p {
	case Hour:
		return t.Truncate(time.Hour)
	case Day:
		return t.Truncate(24 * time.Hour)
	case Week:
		day := t.Truncate(24 * time.Hour)
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// add returns the start of the period n after the one that contains t.
func (p Period) add(t time.Time, n int) time.Time {
	switch begin := p.begin(t); p {
	case Hour:
		return begin.Add(time.Duration(n) * time.Hour)
	case Day:
		return begin.AddDate(0, 0, n)
	case Week:
		return begin.AddDate(0, 0, 7*n)
	case Month:
		return begin.AddDate(0, n, 0)
	default:
		return begin
	}
}

func (p Period) name(t time.Time) string {
	begin := p.begin(t)
	switch p {
	case Hour:
		return begin.Format("2006-01-02T15")
	case Day:
		return begin.Format("2006-01-02")
	case Week:
		year, week := begin.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	case Month:
		return begin.Format("2006-01")
	}
	return ""
}
