package index

import (
	"testing"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
)

// Limits returns the limits for the upkeep of the lists. A test may change them before it uses the
// lists.
func (l *Lists[T, K, V]) Limits() *memberlog.Limits { return &l.all.logs.Limits }

// Divide makes the next read of each segment replace it with two.
func (l *Lists[T, K, V]) Divide() { l.all.logs.Hot++ }

// Host returns the model as the lists see it.
func (l *Lists[T, K, V]) Host() plug.Host { return l.all.host }

// Host returns the model as the index sees it.
func (u *Unique[T, V]) Host() plug.Host { return u.all.host }

// Limits returns the limits for the upkeep of the lists behind the number.
func (t *Total[T, K]) Limits() *memberlog.Limits { return &t.total.lists.logs.Limits }

// SmallHeads makes a head of a hundred bytes a large one during a test.
func SmallHeads(t *testing.T) {
	was := largeHead
	largeHead = 100
	t.Cleanup(func() { largeHead = was })
}

// Window returns the lists as package inspect sees them.
func (l *Lists[T, K, V]) Window() plug.Window { return l.all.Window() }
