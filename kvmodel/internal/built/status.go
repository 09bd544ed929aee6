package built

import "context"

// Status is the state of the indexes, by definition.
type Status struct {
	Exists   bool     // the model may have been written
	Whole    []string // complete
	Building []string // being built, or interrupted
}

// Status returns the state in the item. It writes nothing. A damaged item is an ErrCorrupt.
func (b *Item) Status(ctx context.Context) (Status, error) {
	v, err := b.look(ctx, b.Store)
	if err != nil {
		return Status{}, err
	}
	st := Status{Exists: v.Exists, Whole: v.Whole}
	for _, s := range v.indexes {
		if s.token != "" && s.token != leaving {
			st.Building = append(st.Building, s.def)
		}
	}
	return st, v.damaged
}
