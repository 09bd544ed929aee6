package kvmodel

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ReadOnly makes a DB that takes no part in what others write: it has no journal and
// no tick, repairs and builds nothing, and leaves upkeep to others. Whatever writes
// returns [ErrReadOnly], and so does every write to [DB.Store].
func ReadOnly() Option { return func(o *options) { o.readOnly = true } }

// Writable returns nil, or an [ErrReadOnly] if the DB was opened with [ReadOnly]. It
// is for what would otherwise find out late, such as a verb that gathers in memory.
func (db *DB) Writable() error {
	if db.readOnly {
		return errReadOnly
	}
	return nil
}

// errReadOnly is an ErrUnavailable too: what was asked for is not done.
var errReadOnly = kv.Unavailable(ErrReadOnly)

// unwritten is a store that refuses to write.
type unwritten struct{ kv.Store }

// Powers has no transactions: these are for writers. What it knows of losses it may
// not accept.
func (u unwritten) Powers() kv.Powers {
	p := kv.PowersOf(u.Store)
	p.Atomic = nil
	if p.Losses != nil {
		p.Losses = unaccepted{p.Losses}
	}
	return p
}

// unaccepted is what a store knows of losses, which it refuses to change.
type unaccepted struct{ kv.Losses }

func (unaccepted) Accept(context.Context) ([]string, error) { return nil, errReadOnly }
func (unaccepted) GoneBack(context.Context, string) error   { return errReadOnly }

// Do carries out the ops that read.
func (u unwritten) Do(ctx context.Context, ops []kv.Op) error {
	if !slices.ContainsFunc(ops, func(op kv.Op) bool { return op.Kind.Writes() }) {
		return u.Store.Do(ctx, ops)
	}
	var reads []kv.Op
	var positions []int
	for i := range ops {
		ops[i].Result = kv.Result{Err: errReadOnly}
		if !ops[i].Kind.Writes() {
			reads, positions = append(reads, ops[i]), append(positions, i)
		}
	}
	if len(reads) > 0 {
		// The results say what its error says.
		_ = u.Store.Do(ctx, reads)
	}
	for i, position := range positions {
		ops[position].Result = reads[i].Result
	}
	return kv.Unanswered(ops)
}
