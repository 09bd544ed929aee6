package kvmodel

import (
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ReadOnly makes a DB that takes no part in what others write: it has no journal and
// no tick, repairs and builds nothing, and leaves upkeep to others. Whatever writes
// returns [ErrReadOnly], and so does every write to [DB.Store]. A DB on a store that
// cannot be written is such a one in any case.
func ReadOnly() Option { return func(o *options) { o.readOnly = true } }

// Writable returns nil, or an [ErrReadOnly] if the DB was opened with [ReadOnly]. It
// is for what would otherwise find out late, such as a verb that gathers in memory.
func (db *DB) Writable() error { return db.refusal }

// errReadOnly is an ErrUnavailable too: what was asked for is not done.
var errReadOnly = kv.Unavailable(fmt.Errorf("the DB is %w: write in a process that opens it without kvmodel.ReadOnly", ErrReadOnly))
