package inspect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// intents shows the intents that journals name.
func intents(ctx context.Context, c *call) error {
	if _, err := c.reader(ctx); err != nil {
		return err
	}
	all, err := c.db.Underway(ctx)
	if err != nil {
		return err
	}
	rows := [][]string{{"intent", "began", "process", "args", ""}}
	for _, u := range all {
		if c.json {
			if err := c.Object("intent", c.objectOf(u)); err != nil {
				return err
			}
		}
		age := time.Since(u.Began).Round(time.Second)
		rows = append(rows, []string{u.Name, age.String() + " ago", u.Process, c.argsOf(u), errorText(u.Err)})
	}
	switch {
	case c.json:
	case len(all) == 0:
		c.Say("no intent is under way")
	default:
		c.Table(rows)
	}
	if len(all) > 0 && time.Since(all[0].Began) > lately {
		return errDiffers
	}
	return nil
}

// lately is how old an intent is at most that may well have ended: what is complete stays in
// a journal for a moment.
const lately = time.Minute

// argsOf returns the args of u, or with private ones masked their names alone.
func (c *call) argsOf(u kvmodel.Underway) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(u.Args)) {
		value := Masked
		if c.private {
			value = fmt.Sprintf("%q", fmt.Sprint(u.Args[name]))
		}
		all = append(all, name+"="+value)
	}
	return strings.Join(all, " ")
}

type intentObject struct {
	Intent  string         `json:"intent"`
	Began   time.Time      `json:"began"`
	Process string         `json:"process"`
	Args    map[string]any `json:"args,omitempty"`
	Error   string         `json:"error,omitempty"`
}

func (c *call) objectOf(u kvmodel.Underway) intentObject {
	o := intentObject{Intent: u.Name, Began: u.Began, Process: u.Process, Error: errorText(u.Err)}
	if c.private {
		o.Args = u.Args
	}
	return o
}
