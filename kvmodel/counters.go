package kvmodel

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Counters are numbers of a record that change too often to be in it: each has
// a key of its own. Who loads a record gets them in the same trip; who writes it
// leaves them alone.

// CounterOf is a counter of records of type T. Set puts its value into a record
// that was loaded.
type CounterOf[T any] struct {
	Name string
	Set  func(*T, int64)
}

var counterKey = kv.NewClass("n", 3) // model, counter, id text

// CounterKey returns the key of a model's counter for the record with that id
// text.
func CounterKey(model, counter, id string) string {
	return counterKey.KeyOfText([]string{model, counter}, id)
}

// withCounters returns keys followed by those of the counters of each of ids.
func (m *model[T]) withCounters(keys []string, ids []string) []string {
	for _, id := range ids {
		for _, c := range m.counters {
			keys = append(keys, CounterKey(m.name, c.Name, id))
		}
	}
	return keys
}

// count fills in the counters of rec from what gets of them have answered.
func (m *model[T]) count(rec *plug.Seen[T], results []kv.Result) error {
	if rec.Value == nil {
		return nil
	}
	for i, c := range m.counters {
		n, err := countedOr(0, results[i])
		if err != nil {
			return m.failure(rec.ID, fmt.Errorf("counter %s: %w", c.Name, err))
		}
		c.Set(rec.Value, n)
	}
	return nil
}

// countedOr returns the number that a get has answered, absent if there is none.
func countedOr(absent int64, r kv.Result) (int64, error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return absent, nil
	}
	if r.Err != nil {
		return 0, r.Err
	}
	return kv.ParseNumber(r.Value)
}

// dropCounters removes the counters of a record that is deleted, unless they
// change meanwhile.
func (m *model[T]) dropCounters(ctx context.Context, s kv.Store, id string) error {
	if len(m.counters) == 0 {
		return nil
	}
	keys := m.withCounters(nil, []string{id})
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return err
	}
	var drops []kv.Op
	for i, r := range results {
		if r.Err == nil {
			drops = append(drops, kv.OpDrop(keys[i], r.Version))
		}
	}
	if len(drops) == 0 {
		return nil
	}
	return s.Do(ctx, drops)
}
