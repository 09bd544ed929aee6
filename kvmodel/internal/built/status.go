package built

import "context"

// Status is what the item says of each index, by its definition.
type Status struct {
	Exists   bool     // the model may have been written
	Whole    []string // hold all records
	Building []string // are being built, or were
}

// Status reads what the item says. It writes nothing. An item that is damaged is an
// ErrCorrupt.
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
