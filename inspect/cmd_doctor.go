package inspect

import (
	"cmp"
	"context"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// doctor looks for what will hurt one day.
func doctor(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	d := &diagnosis{call: c}
	d.say(kv.Fine, "%s answers", shownURL(c.url()))
	d.powers()
	d.findings(ctx)
	if err := d.trips(ctx); err != nil {
		return err
	}
	st, err := in.Status(ctx)
	if err != nil {
		return err
	}
	for _, text := range st.Warnings {
		d.say(kv.Hurts, "%s", text)
	}
	if len(st.Warnings) == 0 {
		d.say(kv.Fine, "models, indexes and processes are well")
	}
	return cmp.Or(d.failed, d.wrong)
}

// diagnosis is what doctor has found so far.
type diagnosis struct {
	*call
	wrong  error // errDiffers if anything is
	failed error
}

func (d *diagnosis) say(is kv.Verdict, format string, args ...any) {
	d.show(kv.Find(is, format, args...))
}

func (d *diagnosis) show(f kv.Finding) {
	if f.Is == kv.Hurts {
		d.wrong = errDiffers
	}
	if !d.json {
		d.Say("%-8s %s", f.Is, f.Text)
		return
	}
	err := d.Object("finding", struct {
		State kv.Verdict `json:"state"`
		Text  string     `json:"text"`
	}{f.Is, f.Text})
	d.failed = cmp.Or(d.failed, err)
}

// findings shows how the store is set up. What it does not say is no green line.
func (d *diagnosis) findings(ctx context.Context) {
	look := kv.PowersOf(d.store).Findings
	if look == nil {
		d.say(kv.Unknown, "how the store is set up: it does not say")
		return
	}
	for _, f := range look(ctx) {
		d.show(f)
	}
}

// powers shows what the store can do.
func (d *diagnosis) powers() {
	p := kv.PowersOf(d.store)
	if p.Keys == nil {
		d.say(kv.Hurts, "the store cannot list its keys: check does not find stray entries, and sizes does not work")
	} else {
		d.say(kv.Fine, "the store can list its keys")
	}
	switch {
	case p.ReadOnly != nil:
		d.say(kv.Fine, "the store is a copy, or can only be read")
	case p.Alone:
		d.say(kv.Fine, "one process has the store to itself")
	case p.Losses == nil:
		d.say(kv.Unknown, "whether a server has lost its memory")
	}
	if p.Disk != nil {
		d.disk(p.Disk())
	}
}

// behindFor is by how much a copy may be behind before that is a warning.
const behindFor = time.Minute

func (d *diagnosis) disk(disk kv.Disk) {
	if disk.Lost > 0 {
		d.say(kv.Hurts, "a crash of the machine has taken %s", console.Some(int64(disk.Lost), "commit", "commits"))
	}
	if disk.Behind > behindFor {
		d.say(kv.Hurts, "what is shipped is %s behind", console.Span(disk.Behind))
	}
}

const (
	tripsTimed = 5

	// slowTrip is how long a trip takes with which pages become slow: they have a few.
	slowTrip = 20 * time.Millisecond
)

// trips times a few trips.
func (d *diagnosis) trips(ctx context.Context) error {
	fastest := time.Hour
	for range tripsTimed {
		began := time.Now()
		if err := d.ask(ctx); err != nil {
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
