package oldforms

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Row holds the latest entries: entries under consecutive keys, and two numbers for the range in
// use. A writer increments the higher number, which reserves a slot, and then fills it; no writer
// waits. Readers skip a slot that is still empty, or whose writer died.
//
// The keys grow without end unless the oldest are forgotten, and each entry is a key to be read. A
// timeline reuses a ring of keys, and puts many entries into each.
type Row struct {
	Store kv.Store
	Name  string
}

func (r Row) slot(n int64) string { return fmt.Sprintf("%s:%d", r.Name, n) }
func (r Row) last() string        { return r.Name + ":last" }
func (r Row) first() string       { return r.Name + ":forgotten" }

// Add takes two trips.
func (r Row) Add(ctx context.Context, entry string) error {
	n, err := kv.Adjust(ctx, r.Store, r.last(), 1, time.Duration(0))
	if err != nil {
		return err
	}
	_, err = kv.One(ctx, r.Store, kv.OpSet(r.slot(n), []byte(entry)))
	return err
}

// InUse returns the lowest and the highest slot in use. There are none if the highest is below the
// lowest. One trip.
func (r Row) InUse(ctx context.Context) (lowest, highest int64, err error) {
	results, err := kv.GetAll(ctx, r.Store, r.first(), r.last())
	if err != nil {
		return 0, 0, err
	}
	for i, n := range []*int64{&lowest, &highest} {
		if results[i].Err == nil {
			if *n, err = kv.ParseNumber(results[i].Value); err != nil {
				return 0, 0, err
			}
		}
	}
	return lowest + 1, highest, nil
}

// Newest returns up to n entries, newest first. Two trips.
func (r Row) Newest(ctx context.Context, n int64) (entries []string, err error) {
	lowest, highest, err := r.InUse(ctx)
	if err != nil {
		return nil, err
	}
	var slots []string
	for at := max(lowest, highest-n+1); at <= highest; at++ {
		slots = append(slots, r.slot(at))
	}
	if len(slots) == 0 {
		return nil, nil
	}
	results, err := kv.GetAll(ctx, r.Store, slots...)
	if err != nil {
		return nil, err
	}
	for _, found := range results {
		if found.Err == nil {
			entries = append(entries, string(found.Value))
		}
	}
	slices.Reverse(entries)
	return entries, nil
}

// Forget removes the oldest entry: it raises the lower number, and then clears the slot.
func (r Row) Forget(ctx context.Context) error {
	lowest, highest, err := r.InUse(ctx)
	if err != nil || lowest > highest {
		return err
	}
	n, err := kv.Adjust(ctx, r.Store, r.first(), 1, time.Duration(0))
	if err != nil {
		return err
	}
	_, err = kv.One(ctx, r.Store, kv.OpDelete(r.slot(n)))
	return err
}
