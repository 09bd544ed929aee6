package kvmodel

import (
	"context"
	"maps"

	"github.com/ringtree/ringtree/internal/times"
)

// steps is the progress of the index called name with its own part of a build. Indexes that finish
// side by side do so in one goroutine.
type steps struct {
	*building
	name string
}

func (s steps) From() []byte { return []byte(s.state.Own[s.name]) }

// Reached saves the first progress of an index immediately, so that even a process killed soon
// after has made progress.
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
