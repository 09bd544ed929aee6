package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// spread pushes a page that was published to the home feeds of those who follow
// its author or one of its topics.
func (s *Site) spread(ctx context.Context, c kvmodel.Change[Page, string]) error {
	return nil
}
