package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Line describes one change before it commits, so that another process can finish it.
type Line struct {
	Model   string
	ID      string // text
	Rev     uint64 // repair fences the record up to it, or always
	Created bool   // the id may be new and missing in the enumeration
	Touched []envelope.Touched
}

// FenceAlways is the Rev of a change that does not know its own, such as a deletion, which writes
// its line while it reads the record.
const FenceAlways = 0

// endedRev is the Rev of a line that ends a note.
const endedRev = envelope.MaxRev

func withoutEnded(lines []Line) []Line {
	type note struct{ model, id string }
	ended := make(map[note]bool)
	for _, l := range lines {
		if l.Rev == endedRev {
			ended[note{l.Model, l.ID}] = true
		}
	}
	if len(ended) == 0 {
		return lines
	}
	return slices.DeleteFunc(lines, func(l Line) bool { return ended[note{l.Model, l.ID}] })
}

// Merge merges lines about one record, since concurrent repairs would disturb each other.
func Merge(lines []Line) []Line {
	type about struct {
		model, id string
		always    bool
	}
	var all []Line
	at := make(map[about]int)
	for _, l := range lines {
		key := about{l.Model, l.ID, l.Rev == FenceAlways}
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Line{Model: l.Model, ID: l.ID})
		}
		m := &all[i]
		m.Rev, m.Created = max(m.Rev, l.Rev), m.Created || l.Created
		for _, t := range l.Touched {
			m.Touched = envelope.Merge(m.Touched, t)
		}
	}
	return all
}

const isCreated = 1

func (l *Line) encode(dst []byte) []byte {
	body := wire.AppendText(nil, l.Model)
	body = wire.AppendText(body, l.ID)
	body = binary.AppendUvarint(body, l.Rev)
	created := byte(0)
	if l.Created {
		created = isCreated
	}
	return frame.Append(dst, envelope.AppendTouched(append(body, created), l.Touched))
}

func decodeLines(data []byte) (lines []Line, damaged error) {
	var before []byte
	for len(data) > 0 {
		body, rest, err := frame.Next(data)
		var l Line
		if err == nil {
			l, err = decodeLine(body)
		}
		switch {
		case err != nil && damaged == nil:
			damaged = fmt.Errorf("journal line %d: %w", len(lines), err)
		case err == nil && (before == nil || !bytes.Equal(body, before)):
			lines = append(lines, l)
		}
		before, data = body, rest
	}
	return lines, damaged
}

func decodeLine(body []byte) (l Line, err error) {
	r := wire.Reader{Rest: body}
	l.Model, l.ID, l.Rev = r.Text("model"), r.Text("id"), r.Number("rev", envelope.MaxRev)
	l.Created = r.Byte() == isCreated
	l.Touched = envelope.ReadTouched(&r)
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	return l, r.Err
}

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
