package inspect

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// accept says that it is known what is lost.
func accept(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	lost, err := c.lost(ctx, in)
	if err != nil {
		return err
	}
	if len(lost) == 0 {
		c.Say("nothing is lost")
		return nil
	}
	for _, text := range lost {
		c.Say("lost: %s", text)
	}
	c.Say("What was there will be absent, in every process, and the indexes of every model will have to be built.")
	if gone := in.Unbuildable(); len(gone) > 0 {
		c.Say("What no record says does not come back: %s.", strings.Join(gone, ", "))
	}
	if err := c.confirm(ctx, "Accept that?"); err != nil {
		return err
	}
	if _, err = c.writer(ctx, quiet()); err != nil {
		return err
	}
	servers, err := c.db.Accept(ctx)
	if err != nil {
		return err
	}
	c.Say("accepted%s", strings.TrimSuffix(": "+strings.Join(servers, ", "), ": "))
	c.Say("next: %s", c.command(mends(in)))
	return nil
}

// mends is the verb that makes what can be made once a loss was accepted.
func mends(in *Inspector) string {
	if in.keys == nil {
		return "build"
	}
	return "rescue"
}

// lost returns what the servers have lost, or else what is lost of the ids of models.
func (c *call) lost(ctx context.Context, in *Inspector) (texts []string, err error) {
	if losses := kv.PowersOf(c.store).Losses; losses != nil {
		if err := losses.Look(ctx); err != nil && !errors.Is(err, kv.ErrLost) {
			return nil, err
		}
		for _, err := range losses.Lost() {
			texts = append(texts, err.Error())
		}
		if len(texts) > 0 {
			return texts, nil
		}
	}
	for _, m := range in.models {
		state := new(checking)
		if err := state.ids(ctx, m); err != nil {
			return nil, err
		}
		for _, f := range state.doubts {
			if f.Kind != plug.LostIDs {
				continue
			}
			texts = append(texts, cmp.Or(f.Text, m.Name()))
		}
	}
	return texts, nil
}
