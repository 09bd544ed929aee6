package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	sums "github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Rescue rebuilds a database after a loss from the remaining data: it accepts the loss, lists the
// ids of all records found by the keys of the store, and builds all indexes. A check reports the
// remaining faults and losses.
func (in *Inspector) Rescue(ctx context.Context, p Pace) error {
	if in.keys == nil {
		return ErrNoKeys
	}
	if _, err := in.db.Accept(ctx); err != nil {
		return err
	}
	edition := in.edition()
	for _, m := range in.models {
		if m.IsListed() {
			if err := in.relist(ctx, m, p); err != nil {
				return fmt.Errorf("%s: %w", m.Name(), err)
			}
		}
	}
	err := in.building(in.models, p.Progress, func() error {
		return cmp.Or(beside(in.models, func(m model) error { return m.Build(ctx, true) })...)
	})
	if err != nil {
		return err
	}
	return in.noteRescue(ctx, edition)
}

// Unbuildable returns the data that is in no record, so that no build restores it: counters, and
// data that belongs to no model, each with its kind.
func (in *Inspector) Unbuildable() (all []string) {
	for _, m := range in.models {
		for _, counter := range m.Counters() {
			all = append(all, "counter "+m.Name()+"."+counter)
		}
	}
	for _, w := range in.alone {
		all = append(all, w.Kind()+" "+w.Name())
	}
	return all
}

// rescuedKey is the key of the edition of the store in which the last rescue ran. Each accepted
// loss begins a new edition.
var rescuedKey = kv.NewClass("rescued", 1).Key("ringtree")

// edition returns the edition of the store in the form stored under rescuedKey, "" for the first.
func (in *Inspector) edition() string {
	number, id := kv.EditionOf(kv.PowersOf(in.db.Store()).Losses)
	if number <= 1 {
		return ""
	}
	return fmt.Sprintf("%d.%x", number, id)
}

// noteRescue notes that the rescue after the loss that began an edition is complete.
func (in *Inspector) noteRescue(ctx context.Context, edition string) error {
	if edition == "" {
		return nil
	}
	_, err := kv.One(ctx, in.db.Store(), kv.OpSet(rescuedKey, sums.Whole([]byte(edition))))
	return err
}

// awaitsRescue reports whether a loss was accepted without a following rescue. Then there may be
// records missing from all lists, because their ids were lost.
func (in *Inspector) awaitsRescue(ctx context.Context) (bool, error) {
	edition := in.edition()
	if edition == "" || in.keys == nil {
		return false, nil
	}
	got, err := kv.One(ctx, in.store, kv.OpGet(rescuedKey))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return false, err
	}
	noted, _ := sums.Open(got.Value)
	return string(noted) != edition, nil
}
