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
	Empty    bool          // nothing was ever written to a model, as far as the store says
	Lost     error         // an ErrLost: what stands on some servers is not known; nil: nothing is lost
	Warnings []string
	Next     string // the verb to go on with; "" if all is well
}

// ModelStatus is how a model is.
type ModelStatus struct {
	Name    string
	Written bool  // there may be, or may have been, records
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
// for many records as for few. What servers have lost is no error, but Lost and warnings.
func (in *Inspector) Status(ctx context.Context) (st Status, err error) {
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

// overdue is how old something is that should have ended long ago: what a process has left is
// finished within 45 seconds, and an intent that fails is tried again every 15.
const overdue = time.Minute

// looksFor is for how long Status looks again for a sign of processes that have left something.
// One that has open changes gives one every second.
const looksFor = 4 * time.Second

// leavers finds out which of st.Writers have left something for long, and says that they are
// dead where they give no sign. It takes no time unless there is one that may be.
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

// hasLeft reports whether changes of w are not complete though that takes no such time.
func (in *Inspector) hasLeft(w *kvmodel.Writer) bool {
	return w.Lines > 0 && w.Repaired.IsZero() && in.db.Now().Sub(w.Last) > overdue
}

// warnOfWriters warns of what processes have left, and of intents that do not end. It returns
// the verb to go on with.
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

// lateIntents says of the oldest why it does not end.
func lateIntents(all []kvmodel.Underway, now time.Time) string {
	oldest := slices.MinFunc(all, func(a, b kvmodel.Underway) int { return a.Began.Compare(b.Began) })
	text := fmt.Sprintf("%s not ended after a minute; the oldest is of %s, and began %s ago",
		console.Some(len(all), "intent has", "intents have"), oldest.Name, console.Span(now.Sub(oldest.Began)))
	if oldest.Err != nil {
		text += fmt.Sprintf(": %v", oldest.Err)
	}
	return text
}

// hasOther reports whether w is of a release with other indexes, and may write.
func hasOther(w *kvmodel.Writer) bool { return len(w.Other) > 0 && !w.Dead && !isRepaired(w) }

// isRepaired reports whether w is dead, and others have finished what it has left. A process
// that has left nothing may be one that has nothing to do.
func isRepaired(w *kvmodel.Writer) bool { return !w.Repaired.IsZero() }

// lose notes err if it is an ErrLost, and returns any other.
func (st *Status) lose(err error) error {
	if !errors.Is(err, kv.ErrLost) {
		return err
	}
	if st.Lost == nil {
		st.Lost = err
	}
	return nil
}

// judge adds the warnings, and chooses the verb to run next: to recover from a loss, to check
// damaged records, or to build.
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

// verbFor returns the verb for what is called so: with its name if it is one thing alone.
func verbFor(verb string, names []string) string {
	if len(names) > 1 {
		return verb
	}
	return strings.TrimSpace(verb + " " + names[0])
}

func (st *Status) warn(format string, args ...any) {
	st.Warnings = append(st.Warnings, fmt.Sprintf(format, args...))
}

// warnOfDamage reports whether a check of the model says more than what it warns of.
func (st *Status) warnOfDamage(ms *ModelStatus) bool {
	if ms.Err != nil {
		st.warn("%s: %v", ms.Name, ms.Err)
	}
	if ms.Damaged > 0 {
		st.warn("%s: of the first hundred records, %d cannot be read", ms.Name, ms.Damaged)
	}
	return ms.Err != nil || ms.Damaged > 0
}

// warnOfIndexes reports whether there is something to build.
func (st *Status) warnOfIndexes(ms *ModelStatus) (unbuilt bool) {
	for _, i := range ms.Indexes {
		if i.State == "not built" || i.State == "building" {
			st.warn("%s.%s is %s", ms.Name, i.Name, strings.TrimSpace(i.State+" "+i.Far))
		}
		unbuilt = unbuilt || i.State == "not built"
	}
	return unbuilt
}

// warnOfStore reports whether a check says more than what it warns of.
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

// modelStatus returns how m is. With an ErrLost it returns what is known.
func (in *Inspector) modelStatus(ctx context.Context, m model) (ms ModelStatus, err error) {
	ms = ModelStatus{Name: m.Name(), Version: m.Version()}
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
	return ms, nil
}

// sample looks at the first records of m, for how large they are and how old.
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

// first reads the first records of m, a hundred at most.
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
