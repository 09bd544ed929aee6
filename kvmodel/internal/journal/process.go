package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const processList = "procs"

// Other is another process, as the head of its journal shows it.
type Other struct {
	Process string
	Tick    uint64 // 0: the head is missing, damaged, or being removed
	Shapes  []string
	Origin  Origin // zero if unknown
	Damaged error  // an ErrCorrupt: of the head, or of the list of processes
}

// Others reads the heads of known in the trip for the list.
func Others(ctx context.Context, s kv.Store, own func(process string) bool, known []string) ([]Other, error) {
	results, err := kv.GetAll(ctx, s, append(kv.Texts(known, HeadKey), processList)...)
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc(decodeProcesses(results[len(known)].Value), own)
	if more := plug.Without(all, known); len(more) > 0 {
		heads, err := kv.GetAll(ctx, s, kv.Texts(more, HeadKey)...)
		if err != nil {
			return nil, err
		}
		known, results = slices.Concat(known, more), slices.Concat(results[:len(known)], heads)
	}
	others := make([]Other, len(all))
	for i, process := range all {
		others[i] = otherOf(process, results[slices.Index(known, process)])
	}
	return others, nil
}

func otherOf(process string, got kv.Result) Other {
	if got.Err != nil {
		return Other{Process: process, Damaged: checkName(process)}
	}
	h, err := readHead(process, got.Value)
	if err != nil {
		return Other{Process: process, Damaged: err}
	}
	return Other{Process: process, Tick: h.sign(), Shapes: h.shapes, Origin: h.origin}
}

type processes struct {
	all     []string
	version kv.Version // 0 if there is none
}

func readProcesses(ctx context.Context, s kv.Store) (processes, error) {
	r, err := kv.One(ctx, s, kv.OpGet(processList))
	if errors.Is(err, kv.ErrNotFound) {
		return processes{}, nil
	}
	if err != nil {
		return processes{}, err
	}
	return processes{decodeProcesses(r.Value), r.Version}, nil
}

func (p processes) change(ctx context.Context, s kv.Store, process string, in bool) error {
	for slices.Contains(p.all, process) != in {
		all := slices.DeleteFunc(slices.Clone(p.all), func(name string) bool { return name == process })
		if in {
			all = append(all, process)
		}
		_, err := kv.One(ctx, s, kv.OpReplace(processList, p.version, encodeProcesses(all)))
		if !kv.Raced(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if p, err = readProcesses(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func listProcess(ctx context.Context, s kv.Store, process string, in bool) error {
	p, err := readProcesses(ctx, s)
	if err != nil {
		return err
	}
	return p.change(ctx, s, process, in)
}

// damagedList stands for the names in a list that cannot be read.
const damagedList = "damaged"

func checkName(process string) error {
	if process != damagedList {
		return nil
	}
	return wire.Corrupt(processList, fmt.Errorf("%w: the names of processes cannot be read", codec.ErrCorrupt))
}

func decodeProcesses(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	texts, _ := frame.Either(data)
	all, err := wire.ReadTexts(texts, "name of a process")
	if texts == nil || err != nil {
		return []string{damagedList}
	}
	return all
}

func encodeProcesses(all []string) []byte { return frame.Twice(wire.AppendTexts(nil, all)) }
