package kvmodel

import (
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ReadOnly opens a DB that takes no part in writing: it has no journal and no tick, repairs and
// builds nothing, and leaves upkeep to others. Writing verbs return [ErrReadOnly], as does every
// write to [DB.Store]. A DB on a store that cannot be written is always read-only.
func ReadOnly() Option { return func(o *options) { o.readOnly = true } }

// Writable returns nil, or an [ErrReadOnly] if the DB was opened with [ReadOnly]. It is for callers
// that would otherwise notice late, such as a verb that gathers data in memory.
func (db *DB) Writable() error { return db.core.Writable() }

// errReadOnly is also an ErrUnavailable: the request was not carried out.
var errReadOnly = kv.Unavailable(fmt.Errorf("the DB is %w: write in a process that opens it without kvmodel.ReadOnly", ErrReadOnly))
