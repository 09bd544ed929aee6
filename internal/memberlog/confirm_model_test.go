package memberlog

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// The list is one of records. A process enters ann's record into the list, another removes it, a
// third folds and asks the record, and a fourth finishes the work of processes it takes for dead. A
// record with the value must be in the list in every state.

const annsRecord = "r:ann"

// readAnn returns ann's record: its rev, and whether it has the value.
func readAnn(ctx context.Context, s kv.Store) (record Entry, version kv.Version, err error) {
	r, err := kv.One(ctx, s, kv.OpGet(annsRecord))
	if err != nil {
		return record, 0, err
	}
	_, err = fmt.Sscan(string(r.Value), &record.Rev, &record.In)
	return said("ann", record.Rev, record.In), r.Version, err
}

// changesAnn changes the record as the write path does.
func changesAnn(changes ...bool) modelClient {
	return modelClient{fmt.Sprintf("writer of %v", changes), func(l *Logs, _ *truth) {
		for _, in := range changes {
			changeAnn(l, in)
		}
	}}
}

func changeAnn(l *Logs, in bool) {
	ctx := context.Background()
	record, version, err := readAnn(ctx, l.Store)
	if err != nil || record.In == in {
		return
	}
	e := said("ann", record.Rev+1, in)
	if in && l.Write(ctx, l.Store, place, e) != nil {
		return
	}
	if commitAnn(ctx, l.Store, version, e) == nil && !in {
		_ = l.Write(ctx, l.Store, place, e)
	}
}

func commitAnn(ctx context.Context, s kv.Store, version kv.Version, e Entry) error {
	_, err := kv.One(ctx, s, kv.OpReplace(annsRecord, version, fmt.Append(nil, e.Rev, e.In)))
	return err
}

var foldsAnn = modelClient{"keeper", func(l *Logs, w *truth) {
	l.Overdue = func(string, Entry) {}
	l.Confirm = func(ctx context.Context, s kv.Store, place string, entries []Entry) ([]Entry, error) {
		record, _, err := readAnn(ctx, s)
		says := make([]Entry, len(entries))
		for i, e := range entries {
			switch {
			case err != nil || e.ID == "ann" && record.Rev < e.Rev:
			case e.ID != "ann" || record.In:
				says[i] = e // no one changes the others
			default:
				says[i] = record
			}
		}
		return says, err
	}
	tends(0).work(l, w)
}}

// mendsAnn fences the record and appends its entry.
var mendsAnn = modelClient{"mender", func(l *Logs, _ *truth) {
	ctx := context.Background()
	record, version, err := readAnn(ctx, l.Store)
	if err != nil {
		return
	}
	record.Rev++
	if commitAnn(ctx, l.Store, version, record) == nil {
		_ = l.Write(ctx, l.Store, place, record)
	}
}}

func TestModels_AFoldTakesOutNothingThatItsRecordHolds(t *testing.T) {
	folds := Limits{Split: 1 << 10, Merge: 1, Slack: 1, Look: 1 << 60, Grace: roomy.Grace}
	for _, m := range []modelWorld{
		{
			name: "one enters, leaves and enters, one folds in place", limits: folds,
			clients: []modelClient{changesAnn(true, false, true), foldsAnn},
		},
		{
			name: "one enters while two fold in place", limits: folds,
			clients: []modelClient{changesAnn(true), foldsAnn, foldsAnn},
		},
		{
			name: "one enters and leaves, one enters, one folds in place", limits: folds, vast: true,
			clients: []modelClient{changesAnn(true, false), changesAnn(true), foldsAnn},
		},
		{
			name: "one enters, one fences it, one divides", limits: narrow, vast: true,
			clients: []modelClient{changesAnn(true), mendsAnn, foldsAnn},
		},
	} {
		if m.vast && !proof.Long() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			states := proof.Explore(t, m.annBounds(), func(x *proof.Exploration) {
				ctx := context.Background()
				must(t, beginWith(said("ann", 1, true), said("ann", 2, false), said("bob", 1, true))(modelLogs(x.Store(), m.limits, "before")))
				must(t, commitAnn(ctx, x.Store(), 0, said("ann", 2, false)))
				w := newTruth()
				for i, c := range m.clients {
					x.Go(c.name, func(s kv.Store) { c.work(modelLogs(s, m.limits, fmt.Sprint(c.name, i)), w) })
				}
				x.Sees(func() string { return fmt.Sprint(w.wrong) })
				x.Always(func(s kv.Store) error { return annIsListed(s, m.limits, w) })
			})
			t.Logf("%d states", states)
		})
	}
}

func (m *modelWorld) annBounds() proof.Bounds {
	b := proof.Bounds{Powers: kvtest.ServerPowers, States: 3_000_000}
	if proof.Long() && !m.vast {
		b.Crashes = 1
	}
	return b
}

func annIsListed(s kv.Store, limits Limits, w *truth) error {
	if len(w.wrong) > 0 {
		return errors.New(w.wrong[0])
	}
	ctx := context.Background()
	record, _, err := readAnn(ctx, s)
	if err != nil || !record.In {
		return err
	}
	e, err := entryOf(ctx, modelLogs(s, limits, "onlooker"), s, place, "ann")
	if err == nil && !e.In {
		err = fmt.Errorf("the record is %+v, and the list says %+v", record, e)
	}
	return err
}
