package inspect

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/durable"
)

// tables writes records as tables: a file for each model in a folder, or one file for one model.
func (c *call) tables(ctx context.Context, in *Inspector, to string) error {
	names, err := c.tableNames(in)
	switch {
	case err != nil:
		return err
	case to == "-" && len(names) > 1:
		return fmt.Errorf("%w: the output takes the table of one model", errCall)
	case to == "-":
		_, err := in.Table(ctx, c.Stdout, names[0], c.tableOptions(Pace{Rate: c.rate}))
		return err
	}
	if err := c.writable(to, strings.Join(names, ", ")+" of "+shownURL(c.url())); err != nil {
		return err
	}
	if len(c.args) == 2 {
		return c.tableTo(ctx, in, names[0], to)
	}
	return c.tablesIn(ctx, in, names, to)
}

func (c *call) tableNames(in *Inspector) ([]string, error) {
	if len(in.models) == 0 {
		return nil, errEmpty
	}
	if len(c.args) == 1 {
		return in.names(), nil
	}
	for _, name := range c.args[1:] {
		if _, err := in.model(name); err != nil {
			return nil, err
		}
	}
	return c.args[1:], nil
}

func (c *call) tableOptions(p Pace) TableOptions {
	return TableOptions{Pace: p, CSV: c.format == "csv", Open: c.private}
}

func (c *call) tableTo(ctx context.Context, in *Inspector, name, to string) error {
	n, err := written(ctx, c, to, func(out io.Writer, p Pace) (int64, error) { return in.Table(ctx, out, name, c.tableOptions(p)) })
	if err != nil {
		return err
	}
	c.Say("%s: %s", name, console.Some(n, "record", "records"))
	return nil
}

// tablesIn writes a file for each model to a folder, and renames the folder when all are complete.
func (c *call) tablesIn(ctx context.Context, in *Inspector, names []string, to string) error {
	part, err := os.MkdirTemp(filepath.Dir(to), filepath.Base(to)+".*.part")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	for _, name := range names {
		if err := c.tableTo(ctx, in, name, filepath.Join(part, url.PathEscape(name)+"."+c.format)); err != nil {
			return err
		}
	}
	return durable.Rename(part, to)
}
