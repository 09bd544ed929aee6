package index

import (
	"testing"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
)

func (l *Lists[T, K, V]) Limits() *memberlog.Limits { return &l.all.logs.Limits }

// Divide makes the next read of each segment replace it with two.
func (l *Lists[T, K, V]) Divide() { l.all.logs.Hot++ }

func (l *Lists[T, K, V]) Host() plug.Host { return l.all.host }

func (u *Unique[T, V]) Host() plug.Host { return u.all.host }

func (t *Total[T, K]) Limits() *memberlog.Limits { return &t.total.lists.logs.Limits }

// SmallHeads makes a head of a hundred bytes a large one.
func SmallHeads(t *testing.T) {
	was := largeHead
	largeHead = 100
	t.Cleanup(func() { largeHead = was })
}

func (l *Lists[T, K, V]) Window() plug.Window { return l.all.Window() }
