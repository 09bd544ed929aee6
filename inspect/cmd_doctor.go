package inspect

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// doctor looks for what will hurt one day.
func doctor(ctx context.Context, c *call) error {
	var logged bytes.Buffer
	in, err := c.readerLogging(ctx, &logged)
	if err != nil {
		return err
	}
	d := &diagnosis{call: c}
	d.settings(logged.String())
	d.powers()
	if err := d.trips(ctx); err != nil {
		return err
	}
	st, err := in.Status(ctx)
	if err != nil {
		return err
	}
	for _, text := range st.Warnings {
		d.say("warning", "%s", text)
	}
	if len(st.Warnings) == 0 {
		d.say("ok", "models, indexes and processes are well")
	}
	return cmp.Or(d.failed, d.wrong)
}

// readerLogging is reader. What the store logs while it is opened goes to the buffer: that is
// where backends say which settings of their servers will hurt.
func (c *call) readerLogging(ctx context.Context, to *bytes.Buffer) (*Inspector, error) {
	if c.served != nil {
		return c.reader(ctx) // The log is the app's.
	}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	defer slog.SetDefault(before)
	return c.reader(ctx)
}

func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return a
}

// diagnosis is what doctor has found so far.
type diagnosis struct {
	*call
	wrong  error // errDiffers if anything is
	failed error
}

func (d *diagnosis) say(state, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if state == "warning" {
		d.wrong = errDiffers
	}
	if !d.json {
		d.Say("%-8s %s", state, text)
		return
	}
	err := d.Object("finding", struct {
		State string `json:"state"`
		Text  string `json:"text"`
	}{state, text})
	d.failed = cmp.Or(d.failed, err)
}

// settings shows what the store has logged of its settings.
func (d *diagnosis) settings(logged string) {
	d.say("ok", "%s answers", shownURL(d.url()))
	for line := range strings.Lines(logged) {
		d.say("warning", "%s", strings.TrimSpace(line))
	}
}

// powers shows what the store can do.
func (d *diagnosis) powers() {
	p := kv.PowersOf(d.store)
	if p.Keys == nil {
		d.say("warning", "the store cannot list its keys: check does not find stray entries, and sizes does not work")
	} else {
		d.say("ok", "the store can list its keys")
	}
	switch {
	case p.ReadOnly != nil:
		d.say("ok", "the store is a copy, or can only be read")
	case p.Alone:
		d.say("ok", "one process has the store to itself")
	case p.Losses == nil:
		d.say("unknown", "whether a server has lost its memory")
	}
	if p.Disk != nil {
		d.disk(p.Disk())
	}
}

// behindFor is by how much a copy may be behind before that is a warning.
const behindFor = time.Minute

func (d *diagnosis) disk(disk kv.Disk) {
	if disk.Trouble != nil {
		d.say("warning", "the file: %v", disk.Trouble)
	}
	if disk.Lost > 0 {
		d.say("warning", "a crash of the machine has taken %s", console.Some(int64(disk.Lost), "commit", "commits"))
	}
	if disk.Behind > behindFor {
		d.say("warning", "what is shipped is %s behind", console.Span(disk.Behind))
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
	state := "ok"
	if fastest > slowTrip {
		state = "warning"
	}
	d.say(state, "a trip takes %v", fastest.Round(time.Microsecond))
	return nil
}
