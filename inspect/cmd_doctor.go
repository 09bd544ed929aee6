package inspect

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// doctor looks for what will hurt one day.
func doctor(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	found, err := in.diagnose(ctx, kv.PowersOf(c.store))
	if err != nil {
		return err
	}
	wrong := error(nil)
	for _, f := range append([]kv.Finding{kv.Find(kv.Fine, "%s answers", shownURL(c.url()))}, found...) {
		if f.Is == kv.Hurts {
			wrong = errDiffers
		}
		if err := c.finding(f); err != nil {
			return err
		}
	}
	return wrong
}

func (c *call) finding(f kv.Finding) error {
	if !c.json {
		c.Say("%-8s %s", f.Is, f.Text)
		return nil
	}
	return c.Object("finding", struct {
		State kv.Verdict `json:"state"`
		Text  string     `json:"text"`
	}{f.Is, f.Text})
}
