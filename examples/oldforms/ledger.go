package oldforms

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Ledger is a row of revisions, numbered 1, 2, 3 and so on. Each contains the number of members
// after it, so the newest gives it without counting. The number of the last revision is not stored:
// a writer searches for it and adds the next one; if another writer was faster, it tries again.
type Ledger struct {
	Store kv.Store
	Name  string
}

type Revision struct {
	Number int
	Count  int
	Says   string
}

func (l Ledger) key(n int) string { return l.Name + ":" + strconv.Itoa(n) }

// read returns the revision number n; its Number is 0 if there is none.
func (l Ledger) read(ctx context.Context, n int) (r Revision, err error) {
	found, err := kv.One(ctx, l.Store, kv.OpGet(l.key(n)))
	if n == 0 || errors.Is(err, kv.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	count, says, _ := strings.Cut(string(found.Value), " ")
	r.Count, err = strconv.Atoi(count)
	r.Number, r.Says = n, says
	return r, err
}

// Last returns the newest revision. It doubles the number until no revision has it, and then halves
// the distance: twice as many reads as the number has bits.
func (l Ledger) Last(ctx context.Context) (last Revision, err error) {
	next := 1
	for step := 1; ; step *= 2 {
		r, err := l.read(ctx, next)
		if err != nil {
			return last, err
		}
		if r.Number == 0 {
			break
		}
		last, next = r, next+step
	}
	for next-last.Number > 1 {
		middle := (last.Number + next) / 2
		r, err := l.read(ctx, middle)
		if err != nil {
			return last, err
		}
		if r.Number == 0 {
			next = middle
		} else {
			last = r
		}
	}
	return last, nil
}

func (l Ledger) Add(ctx context.Context, delta int, says string) (Revision, error) {
	last, err := l.Last(ctx)
	if err != nil {
		return last, err
	}
	for {
		next := Revision{last.Number + 1, last.Count + delta, says}
		_, err := kv.One(ctx, l.Store, kv.OpAdd(l.key(next.Number), fmt.Appendf(nil, "%d %s", next.Count, says)))
		if !errors.Is(err, kv.ErrExists) {
			return next, err
		}
		if last, err = l.read(ctx, next.Number); err != nil {
			return last, err
		}
	}
}
