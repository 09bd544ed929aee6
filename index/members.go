package index

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/index/internal/memberlog"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// members is what a [List] and a [Set] read: the list of ids at one place.
type members[K comparable] struct {
	logs  *memberlog.Logs
	store kv.Store
	ids   kvmodel.KeyOf[K]
	place string
	name  string
}

func (m *members[K]) count(ctx context.Context) (int, error) {
	n, err := m.logs.Count(ctx, m.store, m.place)
	return n, m.failure(err)
}

func (m *members[K]) size(ctx context.Context) (int, error) {
	n, err := m.logs.Size(ctx, m.store, m.place)
	return n, m.failure(err)
}

// errStop ends an iteration that its user has left.
var errStop = errors.New("stop")

// each yields every id, and an error at the end if there is one.
func (m *members[K]) each(ctx context.Context, yield func(K, error) bool) {
	err := m.eachBatch(ctx, func(texts []string) error {
		for _, text := range texts {
			id, err := m.ids.Parse(text)
			if err != nil {
				return err
			}
			if !yield(id, nil) {
				return errStop
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		var none K
		yield(none, m.failure(err))
	}
}

// eachBatch calls f with the texts of the ids, some at a time, until f fails.
func (m *members[K]) eachBatch(ctx context.Context, f func([]string) error) error {
	var own error
	err := m.logs.Each(ctx, m.store, m.place, func(texts []string) bool {
		own = f(texts)
		return own == nil
	})
	if own != nil {
		return own
	}
	return err
}

func (m *members[K]) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", m.name, err)
}
