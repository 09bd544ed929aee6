package inspect

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// hot shows which keys a running app asks for.
func hot(ctx context.Context, c *call) error {
	if c.served == nil {
		return fmt.Errorf("%w: hot counts what a running app asks its store for, and there is none that carries it out: let the app call inspect.Serve, and name its path by --app where the store is no file", errRefused)
	}
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	p := c.progress()
	h, err := in.Hot(ctx, HotOptions{For: c.span, Top: c.top, Open: c.private, Progress: p.step})
	c.Done()
	if err := c.heats(&h); err != nil {
		return err
	}
	if err != nil {
		return p.stopped(ctx, err)
	}
	return nil
}

func (c *call) heats(h *Hot) error {
	rows := [][]string{{"gets", "writes", "of", "key"}}
	for _, k := range h.Keys {
		if c.json {
			if err := c.Object("hot", hotObject(k)); err != nil {
				return err
			}
		}
		owner := k.Owner
		if !k.Known {
			owner += " (unknown to this program)"
		}
		rows = append(rows, []string{console.Number(k.Gets), console.Number(k.Writes), owner, k.Key})
	}
	if !c.json && len(h.Keys) > 0 {
		c.Table(rows)
	}
	c.Tell("%s with %s and %s in %s", console.Some(h.Trips, "trip", "trips"), console.Some(h.Gets, "get", "gets"),
		console.Some(h.Writes, "write", "writes"), console.Span(h.Took))
	return nil
}

type hotObject struct {
	Key    string `json:"key"`
	Owner  string `json:"owner"`
	Known  bool   `json:"known"`
	Gets   int64  `json:"gets"`
	Writes int64  `json:"writes"`
}
