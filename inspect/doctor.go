package inspect

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Doctor looks for risks: in the store and the settings of its servers, the duration of a trip, the
// warnings of [Inspector.Status], and data that comes near a limit of its tags. It writes nothing,
// and reads a sample of each model.
func (in *Inspector) Doctor(ctx context.Context) ([]kv.Finding, error) {
	st, err := in.Status(ctx)
	if err != nil {
		return nil, err
	}
	found := []kv.Finding{}
	for _, text := range st.Warnings {
		found = append(found, kv.Find(kv.Hurts, "%s", text))
	}
	if len(st.Warnings) == 0 {
		found = append(found, kv.Find(kv.Fine, "models, indexes and processes are well"))
	}
	more, err := in.diagnose(ctx, kv.PowersOf(in.db.Store()), &st)
	return append(found, more...), err
}

// powers are those of the store below a read-only database, too.
func (in *Inspector) diagnose(ctx context.Context, powers kv.Powers, st *Status) ([]kv.Finding, error) {
	d := &diagnosis{in: in, store: powers}
	d.powers()
	d.findings(ctx)
	if err := d.trips(ctx); err != nil {
		return d.found, err
	}
	if st.Lost != nil || st.Stats.Lost > 0 {
		return d.found, nil
	}
	return d.found, d.fits(ctx)
}

type diagnosis struct {
	in    *Inspector
	store kv.Powers
	found []kv.Finding
}

func (d *diagnosis) say(is kv.Verdict, format string, args ...any) {
	d.found = append(d.found, kv.Find(is, format, args...))
}

// A store without a report is unknown, not fine.
func (d *diagnosis) findings(ctx context.Context) {
	if d.store.Findings == nil {
		d.say(kv.Unknown, "the settings of the store: it does not report them")
		return
	}
	d.found = append(d.found, d.store.Findings(ctx)...)
}

func (d *diagnosis) powers() {
	p := &d.store
	if p.Keys == nil {
		d.say(kv.Hurts, "the store cannot list its keys: check does not find stray entries, and ls --sizes does not work")
	} else {
		d.say(kv.Fine, "the store can list its keys")
	}
	switch {
	case p.ReadOnly != nil:
		d.say(kv.Fine, "the store is a copy, or can only be read")
	case p.Alone:
		d.say(kv.Fine, "one process has the store to itself")
	case p.Losses == nil:
		d.say(kv.Unknown, "lost memory of servers: the store does not report it")
	}
	if p.Disk != nil {
		d.disk(p.Disk())
	}
}

const behindFor = time.Minute

func (d *diagnosis) disk(disk kv.Disk) {
	if disk.Lost > 0 {
		d.say(kv.Hurts, "a crash of the machine lost %s", console.Some(int64(disk.Lost), "commit", "commits"))
	}
	if disk.Behind > behindFor {
		d.say(kv.Hurts, "the shipped copy is %s behind", console.Span(disk.Behind))
	}
}

const (
	tripsTimed = 5

	// slowTrip makes pages slow: they make a few.
	slowTrip = 20 * time.Millisecond
)

func (d *diagnosis) trips(ctx context.Context) error {
	fastest := time.Hour
	for range tripsTimed {
		began := time.Now()
		if err := ask(ctx, d.in.store); err != nil {
			return err
		}
		fastest = min(fastest, time.Since(began))
	}
	is := kv.Fine
	if fastest > slowTrip {
		is = kv.Hurts
	}
	d.say(is, "a trip takes %v", fastest.Round(time.Microsecond))
	return nil
}

const (
	standings = 16

	largeRecord = kv.MaxValue / 2
)

func (d *diagnosis) fits(ctx context.Context) error {
	said := len(d.found)
	for i := range d.in.models {
		m := &d.in.models[i]
		sights, err := d.in.first(ctx, *m)
		if kv.Failed(err) {
			return err
		}
		largest := 0
		for k := range sights {
			if sights[k].Live() {
				largest = max(largest, sights[k].Bytes)
			}
		}
		if largest > largeRecord {
			d.say(kv.Hurts, "%s: a record has %d KB of at most %d KB; move its largest field to a model of its own", m.Name(), largest>>10, kv.MaxValue>>10)
		}
		for k := range m.windows {
			if err := d.fit(ctx, m, k, sights); err != nil {
				return err
			}
		}
	}
	if len(d.found) == said {
		d.say(kv.Fine, "tags fit the data")
	}
	return nil
}

func (d *diagnosis) fit(ctx context.Context, m *model, k int, sights []plug.Sight) error {
	f, ok := m.windows[k].(plug.Fitter)
	if !ok {
		return nil
	}
	name := m.Name() + "." + m.windows[k].Name()
	unfit, err := f.Fit(ctx, d.in.store, standingsAt(sights, k))
	if kv.Failed(err) {
		return err
	}
	if err != nil {
		d.say(kv.Unknown, "whether the tag of %s fits the data: %v", name, err)
	}
	for _, text := range unfit {
		d.say(kv.Hurts, "%s: %s", name, text)
	}
	return nil
}

func standingsAt(sights []plug.Sight, k int) (all []plug.Standing) {
	met := make(map[string]bool)
	for i := range sights {
		if !sights[i].Live() {
			continue
		}
		for _, place := range sights[i].Places[k] {
			if len(met) < standings {
				met[place] = true
			}
			if met[place] {
				all = append(all, plug.Standing{ID: sights[i].ID, Place: place})
			}
		}
	}
	return all
}
