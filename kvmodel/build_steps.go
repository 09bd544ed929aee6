package kvmodel

import (
	"context"
	"maps"

	"github.com/ringtree/ringtree/internal/times"
)

// steps is how far the index called name has come with its own part of a building. Indexes
// that finish side by side do so in one goroutine.
type steps struct {
	*building
	name string
}

func (s steps) From() []byte { return []byte(s.state.Own[s.name]) }

// Reached writes down at once what an index reaches first, so that a process which is
// killed soon after that has come further all the same.
func (s steps) Reached(ctx context.Context, to []byte, n int) error {
	b := s.building
	own := maps.Clone(b.state.Own)
	if own == nil {
		own = make(map[string]string)
	}
	own[s.name] = string(to)
	b.state.Own = own
	b.ownDone += n
	if b.noted[s.name] && b.ownDone < keepRecords && b.db.now().Sub(b.kept) < times.Beat {
		return nil
	}
	b.noted[s.name] = true
	return b.keep(ctx)
}
