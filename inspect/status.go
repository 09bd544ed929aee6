package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// summary is a record in one line.
func (r *Record) summary() string {
	text := fmt.Sprintf("%s %s: %s, rev %d, version %d, %d bytes", r.Model, r.ID, r.State, r.Rev, r.Version, r.Bytes)
	if !r.Expires.IsZero() {
		text += ", expires " + r.Expires.UTC().Format("2006-01-02 15:04:05")
	}
	return text
}

// Status is how a database is, at a glance.
type Status struct {
	Models   []ModelStatus
	Others   []string // what stands alone, each with its kind
	Writers  []kvmodel.Writer
	Stats    kvmodel.Stats // of this process, and what the store says
	Warnings []string
	Next     string // the verb to go on with; "" if all is well
}

// ModelStatus is how a model is.
type ModelStatus struct {
	Name    string
	IDs     int64 // about, those of deleted records among them
	Bytes   int64 // about, of its records
	Version int   // of this program
	Older   int   // of a hundred records, how many an earlier version has written
	Damaged int   // of as many, how many cannot be read
	Indexes []IndexStatus
	Err     error // why it is not known
}

// IndexStatus is how an index is.
type IndexStatus struct {
	Name, Kind string
	State      string // "built", "building", "not built", "unknown" to this program
	Far        string // how far it is being built
}

// Status returns how the database is. It reads a sample of each model, so it takes as long
// for many records as for few.
func (in *Inspector) Status(ctx context.Context) (Status, error) {
	st := Status{Stats: in.db.Stats()}
	for _, m := range in.models {
		ms, err := in.modelStatus(ctx, m)
		if err != nil {
			return st, err
		}
		st.Models = append(st.Models, ms)
		st.judge(m, ms)
	}
	for _, w := range in.alone {
		st.Others = append(st.Others, w.Name()+" ("+w.Kind()+")")
	}
	var err error
	if st.Writers, err = in.db.Writers(ctx); err != nil {
		return st, err
	}
	st.warn()
	return st, nil
}

// judge adds what is wrong with a model.
func (st *Status) judge(m model, ms ModelStatus) {
	if ms.Err != nil {
		st.Warnings = append(st.Warnings, fmt.Sprintf("%s: %v", m.Name(), ms.Err))
		st.next("check " + m.Name())
	}
	if ms.Damaged > 0 {
		st.Warnings = append(st.Warnings, fmt.Sprintf("%s: of the first hundred records, %d cannot be read", m.Name(), ms.Damaged))
		st.next("check " + m.Name())
	}
	for _, i := range ms.Indexes {
		if i.State == "not built" || i.State == "building" {
			st.Warnings = append(st.Warnings, fmt.Sprintf("%s.%s is %s", m.Name(), i.Name, strings.TrimSpace(i.State+" "+i.Far)))
		}
		if i.State == "not built" {
			st.next("build " + m.Name())
		}
	}
}

// next keeps the first verb to go on with.
func (st *Status) next(verb string) {
	if st.Next == "" {
		st.Next = verb
	}
}

// warn adds what is wrong with the store and with those that write to it.
func (st *Status) warn() {
	if st.Stats.Lost > 0 {
		st.Warnings = append(st.Warnings, fmt.Sprintf("%d servers have lost their memory", st.Stats.Lost))
		st.next("accept")
	}
	for _, server := range st.Stats.Away {
		st.Warnings = append(st.Warnings, "server "+server+" does not answer")
	}
	if d := st.Stats.Disk; d != nil && d.Damaged > 0 {
		st.Warnings = append(st.Warnings, fmt.Sprintf("%d items of the file are damaged or missing", d.Damaged))
		st.next("check")
	}
	for _, w := range st.Writers {
		if len(w.Other) > 0 {
			st.Warnings = append(st.Warnings, fmt.Sprintf("process %s has other indexes of %s", w.Process, strings.Join(w.Other, ", ")))
		}
	}
}

func (in *Inspector) modelStatus(ctx context.Context, m model) (ms ModelStatus, err error) {
	ms = ModelStatus{Name: m.Name(), Version: m.Version()}
	st, err := m.State(ctx)
	if err != nil && kv.Failed(err) {
		return ms, err
	}
	ms.IDs, ms.Err = st.IDs, err
	if ms.Err == nil {
		ms.Err = st.Built
	}
	kinds := make(map[string]string)
	for _, w := range m.windows {
		kinds[w.Name()] = w.Kind()
	}
	for _, i := range st.Indexes {
		ms.Indexes = append(ms.Indexes, IndexStatus{i.Name, kinds[i.Name], i.State, i.Far})
	}
	if ms.Err == nil {
		err = in.sample(ctx, m, &ms)
	}
	return ms, err
}

// sample reads the first records of m, for how large they are and how old.
func (in *Inspector) sample(ctx context.Context, m model, ms *ModelStatus) error {
	enough := errors.New("enough")
	err := m.IDs(ctx, "", func(ids []string, _ string, _ int64) error {
		sights, err := m.See(ctx, in.store, ids[:min(at, len(ids))])
		if err != nil {
			return err
		}
		live, older, bytes := 0, 0, 0
		for i := range sights {
			if sights[i].Err != nil {
				ms.Damaged++
			}
			if s := &sights[i]; s.Live() {
				live++
				bytes += s.Bytes
				if s.Envelope.Model < m.Version() {
					older++
				}
			}
		}
		if live > 0 {
			ms.Bytes, ms.Older = int64(bytes)*ms.IDs/int64(len(sights)), 100*older/live
		}
		return enough
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}
