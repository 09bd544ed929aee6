package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// members is the list of ids at one place, which a [List] or a [Set] reads.
type members struct {
	logs  *memberlog.Logs
	store kv.Store
	place string
	name  string
}

func (m *members) count(ctx context.Context) (int, error) {
	n, err := m.logs.Count(ctx, kv.Near(m.store), m.place)
	return n, m.failure(err)
}

func (m *members) size(ctx context.Context) (int, error) {
	n, err := m.logs.Size(ctx, kv.Near(m.store), m.place)
	return n, m.failure(err)
}

// errStop ends an iteration whose caller has stopped.
var errStop = errors.New("stop")

// eachID yields every id of m, and at the end the error, if any.
func eachID[K any](ctx context.Context, m *members, ids *kvmodel.KeyOf[K], yield func(K, error) bool) {
	err := m.eachText(ctx, func(text string) error {
		id, err := ids.Parse(text)
		if err == nil && !yield(id, nil) {
			err = errStop
		}
		return err
	})
	if err != nil && !errors.Is(err, errStop) {
		var none K
		yield(none, m.failure(err))
	}
}

// eachText calls f with the text of each id until f fails.
func (m *members) eachText(ctx context.Context, f func(string) error) error {
	var own error
	err := m.logs.Each(ctx, kv.Near(m.store), m.place, func(text string) bool {
		own = f(text)
		return own == nil
	})
	return cmp.Or(own, err)
}

func (m *members) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", m.name, err)
}
