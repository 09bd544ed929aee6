package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Leftover is data that belongs to no model of this program any more.
type Leftover struct {
	What   string // MODEL or MODEL.PART
	Keys   int64
	Bytes  int64
	Sample string // one of the keys
}

// Leftovers returns the data of models, indexes and counters that this program does not have. A
// program with other models may use it, so a person must decide. Keys of classes that this module
// does not write are left out.
func (in *Inspector) Leftovers(ctx context.Context, p Pace) ([]Leftover, error) {
	all := make(map[string]*Leftover)
	isLeft := func(key string) bool { return in.leftover(key) != "" }
	err := in.scan(ctx, p.begin("sweep", "keys", 0), "", isLeft, func(found []stored) error {
		for _, at := range found {
			what := in.leftover(at.key)
			if all[what] == nil {
				all[what] = &Leftover{What: what, Sample: at.key}
			}
			all[what].Keys++
			all[what].Bytes += int64(len(at.key) + len(at.value))
		}
		return nil
	})
	var list []Leftover
	for _, what := range slices.Sorted(maps.Keys(all)) {
		list = append(list, *all[what])
	}
	return list, err
}

// leftover returns the unknown model or part that owns key, "" if that is uncertain: a long name is
// hashed in the key of a ranking.
func (in *Inspector) leftover(key string) string {
	o := in.owner(key)
	if o.known || kv.IsHashed(key) {
		return ""
	}
	switch o.class {
	case "n", "c", "per", "l", "u", "t":
		if o.model == nil {
			return o.name
		}
		return o.name + "." + o.part
	case "rank", "s", "q", "qh", "e":
		return strings.Trim(o.name+"."+o.part, ".")
	}
	if classes[o.class].ofModel {
		return o.name
	}
	return ""
}

// Sweep deletes the data that Leftovers returns under these names, and returns the number of
// deleted keys.
func (in *Inspector) Sweep(ctx context.Context, what []string, p Pace) (deleted int64, err error) {
	if err := in.db.Writable(); err != nil {
		return 0, err
	}
	there, err := in.Leftovers(ctx, Pace{Rate: p.Rate})
	if err != nil {
		return 0, err
	}
	for _, name := range what {
		if !slices.ContainsFunc(there, func(l Leftover) bool { return l.What == name }) {
			return 0, fmt.Errorf("%w: there are no leftovers of %s", kvmodel.ErrInvalid, name)
		}
	}
	pace := p.begin("sweep", "keys", 0)
	err = in.eachKey(ctx, "", func(keys []string) error {
		var ops []kv.Op
		for _, key := range keys {
			if slices.Contains(what, in.leftover(key)) {
				ops = append(ops, kv.OpDelete(key))
			}
		}
		_ = in.db.Store().Do(ctx, ops) // Each op has its own result.
		for i := range ops {
			if err := ops[i].Err(); err != nil && !kv.Raced(err) {
				return err
			}
			deleted++
		}
		return pace.did(ctx, len(keys), "")
	})
	return deleted, err
}
