package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// Piece is commits that were shipped together, in their order and without a hole.
type Piece struct {
	Term    uint64
	Commits []commitlog.Record
}

// First returns the number of its first commit.
func (p *Piece) First() uint64 { return p.Commits[0].Seq }

func pieceName(term, first uint64) string { return fmt.Sprintf("piece-%08d-%020d", term, first) }
func gapName(term, first uint64) string   { return fmt.Sprintf("gap-%08d-%020d", term, first) }

// PutPiece ships p, whose first put is the one with isNew: if there is such a piece then, the
// error is an fs.ErrExist.
func (a *Archive) PutPiece(ctx context.Context, p *Piece, isNew bool) error {
	size := 0
	for _, r := range p.Commits {
		size += len(r.Body) + 64
	}
	var buf bytes.Buffer
	buf.Grow(size)
	w, err := commitlog.NewWriter(&buf, commitlog.Header{Store: a.Store, Epoch: p.Term, First: p.First()})
	for _, r := range p.Commits {
		r.End = false // That of a log is of no interest here.
		err = errors.Join(err, w.Write(r))
	}
	last := p.Commits[len(p.Commits)-1]
	err = errors.Join(err, w.Write(commitlog.Record{Seq: last.Seq, Time: last.Time, Version: last.Version, End: true}))
	if err != nil {
		return err
	}
	if isNew {
		return a.Folder.PutNew(ctx, pieceName(p.Term, p.First()), &buf)
	}
	return a.Folder.Put(ctx, pieceName(p.Term, p.First()), &buf)
}

// PutGap says why the commits between number last and the piece that begins with number
// first of a term were not shipped.
func (a *Archive) PutGap(ctx context.Context, term, first, last uint64, why string) error {
	return a.Folder.Put(ctx, gapName(term, first), a.encode(note{term: term, seq: last, at: time.Now().UnixNano(), text: why}))
}

// GapError says which commits the folder does not have.
type GapError struct {
	From, To uint64
	Why      string // "" if they are missing though they were shipped
}

func (e *GapError) Error() string {
	if e.Why == "" {
		return fmt.Sprintf("the commits %d to %d are missing: the piece that had them is gone", e.From, e.To)
	}
	return fmt.Sprintf("the commits %d to %d were not shipped: %s", e.From, e.To, e.Why)
}

// Commits calls f for each commit behind number after, in order, until f returns an error.
// If some are missing, it ends with a GapError. The head is that of the last term that has
// started.
func (a *Archive) Commits(ctx context.Context, terms []Term, head Head, after uint64, f func(commitlog.Record) error) error {
	for {
		hint := head.Piece
		term, until := TermOf(terms, after+1)
		if term == 0 {
			return nil
		}
		if until != math.MaxUint64 || hint > after+1 {
			hint = 0
		}
		last, err := a.commitsOf(ctx, term, after, until, hint, f)
		if err != nil {
			return err
		}
		isLast := until == math.MaxUint64
		if isLast {
			until = head.Last
		}
		if last < until {
			return &GapError{From: last + 1, To: until}
		}
		if isLast {
			return nil
		}
		after = until
	}
}

// commitsOf calls f for the commits of a term behind number after, up to number until. It
// returns the number of the last.
func (a *Archive) commitsOf(ctx context.Context, term, after, until, hint uint64, f func(commitlog.Record) error) (uint64, error) {
	pieces := []uint64{hint}
	if hint == 0 {
		var err error
		if pieces, err = a.pieces(ctx, term, after+1); err != nil {
			return after, err
		}
	}
	for _, first := range pieces {
		if after >= until || first > until {
			break
		}
		if first > after+1 {
			return after, a.gap(ctx, term, after+1, first)
		}
		last, err := a.piece(ctx, term, first, after, until, f)
		if err != nil {
			return after, err
		}
		after = max(after, last)
	}
	return after, nil
}

// Beyond calls f for the commits that were shipped in term number n behind number after,
// whether they count or not.
func (a *Archive) Beyond(ctx context.Context, n, after uint64, f func(commitlog.Record) error) error {
	_, err := a.commitsOf(ctx, n, after, math.MaxUint64, 0, f)
	return err
}

// TermOf returns the term that the commit of a number is of, and the last commit of that;
// 0 if no term has started.
func TermOf(terms []Term, seq uint64) (term, until uint64) {
	until = math.MaxUint64
	for i := len(terms) - 1; i >= 0; i-- {
		t := terms[i]
		if !t.Started {
			continue
		}
		if t.From < seq {
			return t.Number, until
		}
		until = min(until, t.From)
	}
	return 0, 0
}

// Until returns up to where commits of term number n count; not ok if all do, since no later
// term has started.
func Until(terms []Term, n uint64) (until uint64, ok bool) {
	until = math.MaxUint64
	for _, t := range terms {
		if t.Number > n && t.Started {
			until, ok = min(until, t.From), true
		}
	}
	return until, ok
}

// pieces returns the first numbers of the pieces of a term, from the one on that may have
// the commit number seq.
func (a *Archive) pieces(ctx context.Context, term, seq uint64) (all []uint64, err error) {
	begin := fmt.Sprintf("piece-%08d-", term)
	names, err := a.Folder.List(ctx, begin)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		_, first, ok := numbers(name, "piece-")
		if !ok || name != pieceName(term, first) {
			continue
		}
		if first <= seq {
			all = all[:0]
		}
		all = append(all, first)
	}
	return all, nil
}

// piece calls f for the commits of a piece that are behind number after, up to number until.
// It returns the number of the last one of the piece.
func (a *Archive) piece(ctx context.Context, term, first, after, until uint64, f func(commitlog.Record) error) (last uint64, err error) {
	next := first
	err = a.read(ctx, pieceName(term, first), func(h commitlog.Header, r commitlog.Record) error {
		switch {
		case h.Epoch != term || h.First != first || !r.End && r.Seq != next:
			return fmt.Errorf("%s: %w: it has commit %d of term %d, where %d is due", pieceName(term, first), ErrDamaged, r.Seq, h.Epoch, next)
		case r.End:
			return nil
		}
		next++
		if r.Seq <= after || r.Seq > until {
			return nil
		}
		return f(r)
	})
	return min(next-1, until), err
}

// gap returns why the commits from one number up to the piece that begins with first are
// missing.
func (a *Archive) gap(ctx context.Context, term, from, first uint64) error {
	missing := &GapError{From: from, To: first - 1}
	n, err := a.note(ctx, gapName(term, first))
	switch {
	case err == nil && n.seq < from:
		missing.Why = n.text
	case err != nil && !isMissing(err):
		return err
	}
	return missing
}

// Last returns the last commit that was shipped in term number n; not ok if there is none.
func (a *Archive) Last(ctx context.Context, n uint64) (last commitlog.Record, ok bool, err error) {
	pieces, err := a.pieces(ctx, n, math.MaxUint64)
	if err != nil || len(pieces) == 0 {
		return last, false, err
	}
	_, err = a.piece(ctx, n, pieces[0], 0, math.MaxUint64, func(r commitlog.Record) error {
		last, ok = r, true
		return nil
	})
	return last, ok, err
}
