package ranking

import (
	"context"
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// reader reads one tree in one direction, for a Board or Values.
type reader struct {
	tree    *keytree.Tree // nil: nothing to read
	db      plug.DB
	name    string // prefix of errors
	listing string // the name that cursors carry
	between keytree.Between
	down    bool // highest score first
	ranks   keytree.Ranks
	ahead   *ahead.Memory // of first pages and numbered pages

	cancel context.CancelFunc
	end    func()
}

// begin starts an operation once the index is ready. end is what Begin returned. Unless begin
// fails, the caller must close the reader.
func (r *reader) begin(ctx context.Context, end func(), ready func(context.Context) error) (context.Context, error) {
	if err := ready(ctx); err != nil {
		end()
		return ctx, err
	}
	r.end = end
	ctx, r.cancel = r.db.Patient(ctx)
	return ctx, nil
}

func (r *reader) close() {
	r.cancel()
	r.end()
}

// page returns up to n members from the position of cursor, and the cursors of the pages after and
// before them.
func (r *reader) page(ctx context.Context, cursor string, n int, w keytree.Want) (l keytree.Listing, next, prev string, err error) {
	var at []byte
	if err := plug.CheckPage(r.name, n); err != nil {
		return l, "", "", err
	}
	if cursor != "" {
		if at, err = plug.ParseCursor(r.listing, cursor); err != nil {
			return l, "", "", err
		}
	}
	if r.tree == nil {
		return l, "", "", nil
	}
	s, done := r.db.Store(), func() {}
	if at == nil && r.between == (keytree.Between{}) && !w.Unverified {
		s, done = r.look(ctx, s, 0, n)
	}
	defer done()
	l, err = r.tree.Page(ctx, s, r.between, r.down, at, n, w)
	return l, r.cursor(l.Next), r.cursor(l.Prev), r.failure(err)
}

// look returns the store for reading n members after the first before ones. While it reads the
// nodes, it prefetches the records of the last such look. The caller must call done at the end.
func (r *reader) look(ctx context.Context, s kv.Store, before, n int) (_ kv.Store, done func()) {
	listing := r.listing
	if before > 0 {
		listing += "#" + strconv.Itoa(before)
	}
	one := r.ahead.Store(ctx, s, ahead.Look{Listing: listing, N: n})
	return one, one.Remember
}

func (r *reader) cursor(at []byte) string {
	if at == nil {
		return ""
	}
	return plug.Cursor(r.listing, at)
}

func (r *reader) count(ctx context.Context) (int, error) {
	if r.tree == nil {
		return 0, nil
	}
	n, err := r.tree.Count(ctx, r.db.Store(), r.between)
	return n, r.failure(err)
}

func (r *reader) verify(ctx context.Context, ids []string) (Report, error) {
	found, err := r.tree.Verify(ctx, r.db.Store(), ids)
	return Report(found.Findings), r.failure(err)
}

func (r *reader) mend(ctx context.Context, ids []string, lost uint64, clear func(context.Context, []keytree.Doubt) error) (Report, error) {
	if err := r.db.Writable(); err != nil {
		return Report{}, r.failure(err)
	}
	found, err := r.tree.Mend(ctx, r.db.Store(), ids, lost, clear)
	if err == nil && !r.tree.Lost() {
		err = r.tree.Refresh(ctx, r.db.Store())
	}
	return Report(found.Findings), r.failure(err)
}

func (r *reader) refresh(ctx context.Context) error {
	if err := r.db.Writable(); err != nil {
		return r.failure(err)
	}
	return r.failure(r.tree.Refresh(ctx, r.db.Store()))
}

func (r *reader) rebuild(ctx context.Context, ids []string, lost uint64) error {
	if err := r.db.Writable(); err != nil {
		return r.failure(err)
	}
	return r.failure(r.tree.Rebuild(ctx, r.db.Store(), ids, lost))
}

func (r *reader) stats() Stats {
	n, bytes := r.tree.Local.Routers()
	return Stats{n, bytes, r.tree.Local.Lost()}
}

func (r *reader) failure(err error) error { return named(r.name, err) }

func (r *reader) about(id string, err error) error {
	if err == nil {
		return nil
	}
	return r.failure(fmt.Errorf("%.100q: %w", id, err))
}

func named(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}
