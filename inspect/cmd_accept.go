package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
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
		return c.acceptNew(ctx, in)
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

// acceptNew is accept of a store that has lost nothing as far as it says. An app that runs may
// know better, where no server was left that could tell.
func (c *call) acceptNew(ctx context.Context, in *Inspector) error {
	empty, err := c.isEmpty(ctx)
	if err != nil {
		return err
	}
	if !empty {
		c.Say("nothing is lost")
		if kv.PowersOf(c.store).Losses != nil {
			c.Say("An app that runs and says ErrLost all the same knew another store here: restart it, and it takes this one.")
		}
		return nil
	}
	c.Say("The store is empty, and nothing says that it ever was not.")
	c.Say("An app that runs and knew what was here answers ErrLost until you accept this. What it had here is gone; indexes will have to be built.")
	if err := c.confirm(ctx, "Accept that the store is empty?"); err != nil {
		return err
	}
	if _, err = c.writer(ctx, quiet()); err != nil {
		return err
	}
	if err := c.renew(ctx); err != nil {
		return err
	}
	c.Say("accepted: apps that run take the empty store within 15 seconds")
	c.Say("next: %s; then an import, if there is an export of what was here", c.command(mends(in)))
	return nil
}

// isEmpty reports whether the store is on servers, and these hold nothing of any app or tenant.
// Then an app that runs may know more of it than it says. If its keys cannot be listed, that is
// not known.
func (c *call) isEmpty(ctx context.Context) (bool, error) {
	p := kv.PowersOf(c.store)
	if p.Losses == nil || p.Keys == nil || p.Prefix != "" {
		return false, nil
	}
	err := p.Keys(ctx, "", func(keys []string) error {
		for _, key := range keys {
			if !isWitness(key) && !slices.Contains(untold, key) {
				return errDiffers
			}
		}
		return nil
	})
	if errors.Is(err, errDiffers) {
		return false, nil
	}
	return err == nil, err
}

// untold are the keys of a store in which nothing else is.
var untold = []string{kv.NewClass("format", 1).Key("ringtree"), rescuedKey}

// renew makes apps that run take the store, which is empty, for theirs.
func (c *call) renew(ctx context.Context) error {
	if err := kv.PowersOf(c.store).Losses.Renew(ctx); err != nil {
		return err
	}
	_, err := c.db.Accept(ctx)
	return err
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
