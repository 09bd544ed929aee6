package journal

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// processList is the one key that names every process with a journal.
const processList = "procs"

// Other is another process with a journal, as its head shows it.
type Other struct {
	Process string
	head    kv.Result
}

// Others returns the processes with a journal other than mine.
func Others(ctx context.Context, s kv.Store, mine string) ([]Other, error) {
	all, _, err := processes(ctx, s)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(process string) bool { return process == mine })
	if len(all) == 0 {
		return nil, nil
	}
	keys := make([]string, len(all))
	for i, process := range all {
		keys[i] = headKey.Key(process)
	}
	heads, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	others := make([]Other, len(all))
	for i, process := range all {
		others[i] = Other{process, heads[i]}
	}
	return others, nil
}

// Head returns the tick and the shapes of the process, none if its head is gone.
func (o Other) Head() (tick uint64, shapes []string, err error) {
	if o.head.Err != nil {
		return 0, nil, nil
	}
	h, err := decodeHead(o.head.Value)
	return h.tick, h.shapes, err
}

// listProcess puts process into the list of processes or takes it out.
func listProcess(ctx context.Context, s kv.Store, process string, in bool) error {
	for {
		all, version, err := processes(ctx, s)
		if err != nil {
			return err
		}
		if slices.Contains(all, process) == in {
			return nil
		}
		if in {
			all = append(all, process)
		} else {
			all = slices.DeleteFunc(all, func(p string) bool { return p == process })
		}
		_, err = kv.One(ctx, s, kv.OpReplace(processList, version, encodeProcesses(all)))
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
}

// processes returns the names of the processes with a journal, and the version
// of their list, 0 if there is none.
func processes(ctx context.Context, s kv.Store) ([]string, kv.Version, error) {
	r, err := kv.One(ctx, s, kv.OpGet(processList))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	var all []string
	for _, name := range bytes.Split(r.Value, []byte{'\n'}) {
		if len(name) > 0 {
			all = append(all, string(name))
		}
	}
	return all, r.Version, nil
}

func encodeProcesses(all []string) []byte {
	var b []byte
	for _, name := range all {
		b = append(append(b, name...), '\n')
	}
	return b
}
