package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Status is the state of a database, at a glance.
type Status struct {
	Models   []ModelStatus    `json:"models"`
	Others   []string         `json:"besides,omitempty"` // data that belongs to no model, each with its kind
	Writers  []kvmodel.Writer `json:"-"`
	Stats    kvmodel.Stats    `json:"-"`               // of this process, with the reports of the store
	Empty    bool             `json:"empty,omitempty"` // nothing was ever written, as far as the store knows
	Lost     error            `json:"-"`               // an ErrLost, or nil
	Warnings []string         `json:"warnings"`
	Next     string           `json:"next,omitempty"` // the verb to run next; "": all is well
}

// ModelStatus is the state of a model.
type ModelStatus struct {
	Name    string        `json:"model"`
	Written bool          `json:"-"`       // records may exist, or may have existed
	IDs     int64         `json:"records"` // approximate, including deleted records
	Bytes   int64         `json:"bytes"`   // of its records, approximate
	Version int           `json:"version"` // of this program
	Older   int           `json:"older"`   // percentage of records written by an earlier version
	Damaged int           `json:"-"`       // unreadable ones among the first hundred records
	Indexes []IndexStatus `json:"indexes"`
	Err     error         `json:"error,omitempty"` // the reason the state is unknown
}

// IndexStatus is the state of an index.
type IndexStatus struct {
	Name  string `json:"index"`
	Kind  string `json:"kind,omitempty"`
	State string `json:"state"`         // "built", "building", "not built", "unknown" to this program
	Far   string `json:"far,omitempty"` // the progress of its build
}

// texted makes err a text in JSON.
func texted(err error) error {
	if err == nil {
		return nil
	}
	return textError{err}
}

type textError struct{ error }

func (e textError) MarshalText() ([]byte, error) { return []byte(e.Error()), nil }
func (e textError) Unwrap() error                { return e.error }

// Status returns the state of the database, at a cost that does not depend on the number of
// records. Lost and Warnings report data loss.
func (in *Inspector) Status(ctx context.Context) (st Status, err error) {
	st = Status{Models: []ModelStatus{}, Warnings: []string{}}
	for _, m := range in.models {
		ms, err := in.modelStatus(ctx, m)
		if err = st.lose(err); err != nil {
			return st, err
		}
		st.Models = append(st.Models, ms)
	}
	for _, w := range in.alone {
		st.Others = append(st.Others, w.Name()+" ("+w.Kind()+")")
	}
	st.Writers, err = in.db.Writers(ctx)
	if err = st.lose(err); err != nil {
		return st, err
	}
	if err := in.leavers(ctx, &st); err != nil {
		return st, err
	}
	st.Stats = in.db.Stats()
	awaits, err := in.awaitsRescue(ctx)
	if err = st.lose(err); err != nil {
		return st, err
	}
	st.Empty = st.Lost == nil && !slices.ContainsFunc(st.Models, func(m ModelStatus) bool { return m.Written })
	in.judge(&st, awaits && st.Lost == nil && st.Stats.Lost == 0)
	return st, nil
}

// Changes of a dead process are finished within 45 seconds, and failed intents retried every 15.
const overdue = time.Minute

// looksFor is the wait for a sign of life, which a process gives every second.
const looksFor = 4 * time.Second

// leavers marks the processes as dead that have overdue changes and give no sign of life.
func (in *Inspector) leavers(ctx context.Context, st *Status) error {
	ticks := make(map[string]uint64)
	for _, w := range st.Writers {
		if !w.Own && !w.Dead && in.hasLeft(&w) {
			ticks[w.Process] = w.Tick
		}
	}
	for until := time.Now().Add(looksFor); len(ticks) > 0; {
		if !time.Now().Before(until) {
			for i, w := range st.Writers {
				if _, silent := ticks[w.Process]; silent {
					st.Writers[i].Dead = true
				}
			}
			return nil
		}
		if !kv.Sleep(ctx, time.Second) {
			return ctx.Err()
		}
		now, err := in.db.Writers(ctx)
		if err != nil {
			return err
		}
		left := make(map[string]uint64)
		for _, w := range now {
			if tick, was := ticks[w.Process]; was && w.Tick <= tick && in.hasLeft(&w) {
				left[w.Process] = tick
			}
		}
		ticks = left
	}
	return nil
}

func (in *Inspector) hasLeft(w *kvmodel.Writer) bool {
	return w.Lines > 0 && w.Repaired.IsZero() && in.db.Now().Sub(w.Last) > overdue
}

func (in *Inspector) warnOfWriters(st *Status) (next string) {
	now := in.db.Now()
	var late []kvmodel.Underway
	for i := range st.Writers {
		w := &st.Writers[i]
		for _, u := range w.Intents {
			if now.Sub(u.Began) > overdue {
				late = append(late, u)
			}
		}
		if w.Damaged != nil {
			st.warn("process %s: %v", w.Called(now), w.Damaged)
		}
		if hasOther(w) {
			st.warn("process %s has other indexes of %s", w.Called(now), strings.Join(w.Other, ", "))
		}
		if w.Dead && in.hasLeft(w) {
			st.warn("process %s is dead, and no other has finished its %s", w.Called(now), console.Some(w.Lines, "change", "changes"))
			next = "check --repair"
		}
	}
	if len(late) > 0 {
		st.warn("%s", lateIntents(late, now))
	}
	return next
}

func lateIntents(all []kvmodel.Underway, now time.Time) string {
	oldest := slices.MinFunc(all, func(a, b kvmodel.Underway) int { return a.Began.Compare(b.Began) })
	text := fmt.Sprintf("%s not ended after a minute; the oldest, %s, began %s ago",
		console.Some(len(all), "intent has", "intents have"), oldest.Name, console.Span(now.Sub(oldest.Began)))
	if oldest.Err != nil {
		text += fmt.Sprintf(": %v", oldest.Err)
	}
	return text
}

// hasOther reports whether w may write without some of our indexes.
func hasOther(w *kvmodel.Writer) bool { return len(w.Other) > 0 && !w.Dead && !isRepaired(w) }

// A process without changes may only be idle.
func isRepaired(w *kvmodel.Writer) bool { return !w.Repaired.IsZero() }

func (st *Status) lose(err error) error {
	if !errors.Is(err, kv.ErrLost) {
		return err
	}
	if st.Lost == nil {
		st.Lost = err
	}
	return nil
}

func (in *Inspector) judge(st *Status, awaitsRescue bool) {
	var damaged, unbuilt []string // models
	for i := range st.Models {
		ms := &st.Models[i]
		if st.warnOfDamage(ms) {
			damaged = append(damaged, ms.Name)
		}
		if st.warnOfIndexes(ms) {
			unbuilt = append(unbuilt, ms.Name)
		}
	}
	if st.warnOfStore() {
		damaged = append(damaged, "")
	}
	late := in.warnOfWriters(st)
	if awaitsRescue {
		st.warn("a loss was acknowledged, and nothing recovered yet: some records may be unreachable")
	}
	switch {
	case st.Lost != nil || st.Stats.Lost > 0 || awaitsRescue:
		st.Next = "recover"
	case len(damaged) > 0:
		st.Next = verbFor("check", damaged)
	case len(unbuilt) > 0:
		st.Next = verbFor("build", unbuilt)
	default:
		st.Next = late
	}
}

func verbFor(verb string, names []string) string {
	if len(names) > 1 {
		return verb
	}
	return strings.TrimSpace(verb + " " + names[0])
}

func (st *Status) warn(format string, args ...any) {
	st.Warnings = append(st.Warnings, fmt.Sprintf(format, args...))
}

func (st *Status) warnOfDamage(ms *ModelStatus) bool {
	if ms.Err != nil {
		st.warn("%s: %v", ms.Name, ms.Err)
	}
	if ms.Damaged > 0 {
		st.warn("%s: of the first hundred records, %d cannot be read", ms.Name, ms.Damaged)
	}
	return ms.Err != nil || ms.Damaged > 0
}

func (st *Status) warnOfIndexes(ms *ModelStatus) (unbuilt bool) {
	for _, i := range ms.Indexes {
		if i.State == "not built" || i.State == "building" {
			st.warn("%s.%s is %s", ms.Name, i.Name, i.state())
		}
		unbuilt = unbuilt || i.State == "not built"
	}
	return unbuilt
}

func (st *Status) warnOfStore() (damaged bool) {
	if st.Stats.Lost > 0 {
		st.warn("%s", console.Some(st.Stats.Lost, "server has lost its memory", "servers have lost their memory"))
	} else if st.Lost != nil {
		st.warn("%v", st.Lost)
	}
	for _, server := range st.Stats.Away {
		st.warn("server %s does not answer", server)
	}
	d := st.Stats.Disk
	if d != nil && d.Trouble != nil {
		st.warn("the file: %v", d.Trouble)
	}
	if d != nil && d.Damaged > 0 {
		st.warn("%d items of the file are damaged or missing", d.Damaged)
		return true
	}
	return false
}

func (in *Inspector) modelStatus(ctx context.Context, m model) (ms ModelStatus, err error) {
	ms = ModelStatus{Name: m.Name(), Version: m.Version(), Indexes: []IndexStatus{}}
	st, err := m.State(ctx)
	ms.Written, ms.IDs, ms.Err = st.Exists || err != nil, st.IDs, err
	if kv.Failed(err) {
		return ms, err
	}
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
		ms.Err = in.sample(ctx, m, &ms)
	}
	if kv.Failed(ms.Err) {
		return ms, ms.Err
	}
	ms.Err = texted(ms.Err)
	return ms, nil
}

func (in *Inspector) sample(ctx context.Context, m model, ms *ModelStatus) error {
	sights, err := in.first(ctx, m)
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
	return err
}

func (in *Inspector) first(ctx context.Context, m model) (sights []plug.Sight, err error) {
	enough := errors.New("enough")
	err = m.IDs(ctx, "", func(ids []string, _ string) error {
		if sights, err = m.See(ctx, in.store, ids[:min(at, len(ids))]); err != nil {
			return err
		}
		return enough
	})
	if errors.Is(err, enough) {
		return sights, nil
	}
	return sights, err
}
