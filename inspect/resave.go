package inspect

import (
	"context"
	"slices"
)

// ResaveOptions configure Resave.
type ResaveOptions struct {
	Pace
	Dry bool // only try it
}

// Resave rewrites all records of a model that were written by an earlier version of the model, so
// that the code for reading that version can be removed. It returns their number. Others may write
// meanwhile.
func (in *Inspector) Resave(ctx context.Context, name string, o ResaveOptions) (n int64, err error) {
	m, err := in.model(name)
	if err != nil {
		return 0, err
	}
	st, err := m.State(ctx)
	if err != nil {
		return 0, err
	}
	pace := o.Pace.begin("resave", name, st.IDs)
	err = m.IDs(ctx, o.From, func(ids []string, to string) error {
		for some := range slices.Chunk(ids, at) {
			done, err := m.Resave(ctx, some, o.Dry)
			n += int64(done)
			if err != nil {
				return err
			}
		}
		pace.step.Found = n
		return pace.did(ctx, len(ids), to)
	})
	return n, err
}
