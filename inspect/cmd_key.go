package inspect

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
)

// key shows what a key holds.
func key(ctx context.Context, c *call) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	if o := in.owner(c.args[0]); c.hex && !c.private && o.model != nil && (o.class == "r" || o.class == "h") && len(o.model.Private()) > 0 {
		return fmt.Errorf("%w: the bytes of a %s have private fields in them; --private shows those, too", errRefused, o.model.Name())
	}
	it, err := in.Key(ctx, c.args[0])
	if err != nil {
		return err
	}
	if c.json {
		err = c.Object("key", it.object(c.hex))
	} else {
		c.itemText(it)
	}
	if err == nil && (!it.Exists || it.Damaged != nil) {
		err = errDiffers
	}
	return err
}

func (c *call) itemText(it Item) {
	owner := it.Owner
	if !it.Known {
		owner = strings.TrimSpace(owner + " (unknown to this program)")
	}
	if !it.Exists {
		c.Say("%s   absent   %s", it.Key, owner)
		return
	}
	c.Say("%s   %s   %s", it.Key, console.Size(it.Bytes), owner)
	for _, line := range it.Lines {
		c.Say("  %s", line)
	}
	if it.Damaged != nil {
		c.Say("  DAMAGED: %v", it.Damaged)
	}
	if c.hex {
		c.Say("%s", strings.TrimSuffix(hex.Dump(it.Value), "\n"))
	}
}

type itemObject struct {
	Key     string   `json:"key"`
	Exists  bool     `json:"exists"`
	Owner   string   `json:"owner"`
	Known   bool     `json:"known"`
	Bytes   int      `json:"bytes"`
	Lines   []string `json:"lines,omitempty"`
	Damaged string   `json:"damaged,omitempty"`
	Hex     string   `json:"hex,omitempty"`
}

func (it *Item) object(open bool) itemObject {
	o := itemObject{Key: it.Key, Exists: it.Exists, Owner: it.Owner, Known: it.Known, Bytes: it.Bytes, Lines: it.Lines, Damaged: errorText(it.Damaged)}
	if open {
		o.Hex = hex.EncodeToString(it.Value)
	}
	return o
}
