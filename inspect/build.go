package inspect

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Build builds the incomplete indexes of a model; with again, all. progress may be nil.
func (in *Inspector) Build(ctx context.Context, name string, again bool, progress func(Step)) error {
	m, err := in.model(name)
	if err != nil {
		return err
	}
	return in.build(ctx, []model{m}, again, progress)
}

// beside calls f with all values concurrently, since each build may wait for other processes.
func beside[V any](values []V, f func(V) error) []error {
	errs := make([]error, len(values))
	var ends sync.WaitGroup
	for i, v := range values {
		ends.Go(func() { errs[i] = f(v) })
	}
	ends.Wait()
	return errs
}

const buildEvery = 200 * time.Millisecond

// Each build may have to wait until no process can know the earlier state.
func (in *Inspector) build(ctx context.Context, models []model, again bool, progress func(Step)) error {
	do := func() error {
		return errors.Join(beside(models, func(m model) error { return m.Build(ctx, again) })...)
	}
	if progress == nil {
		return do()
	}
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	ticker := time.NewTicker(buildEvery)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ticker.C:
			for _, b := range in.db.Stats().Builds {
				if slices.ContainsFunc(models, func(m model) bool { return m.Name() == b.Model }) {
					progress(Step{Verb: "build", What: b.Model, Done: int64(b.Done), Total: int64(b.Total)})
				}
			}
		}
	}
}

// ResaveOptions configure Resave.
type ResaveOptions struct {
	Pace
	Dry bool // only try it
}

// Resave rewrites the records of a model that an earlier version of it wrote, so that the code for
// that version can go. It returns their number. Others may write meanwhile.
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
