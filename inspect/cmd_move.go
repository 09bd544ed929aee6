package inspect

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel"
)

func export(ctx context.Context, c *call) error {
	to := c.args[0]
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	if c.isTable() {
		return c.tables(ctx, in, to)
	}
	if len(c.args) > 1 || c.private {
		return fmt.Errorf("%w: an export contains everything; MODEL and --private need --format csv or jsonl", errCall)
	}
	if to == "-" {
		_, err := in.Export(ctx, c.Stdout, Pace{Rate: c.rate})
		return err
	}
	if err := c.writable(to, shownURL(c.url())); err != nil {
		return err
	}
	sum, err := written(ctx, c, to, func(out io.Writer, p Pace) (Summary, error) { return in.Export(ctx, out, p) })
	if err != nil {
		return err
	}
	c.summary("exported", sum)
	return nil
}

func written[T any](ctx context.Context, c *call, to string, f func(io.Writer, Pace) (T, error)) (result T, err error) {
	err = writeWhole(to, func(file *os.File) (err error) {
		out := bufio.NewWriterSize(file, 1<<20)
		if result, err = long(ctx, c, func(p Pace) (T, error) { return f(out, p) }); err != nil {
			return err
		}
		return out.Flush()
	}, nil)
	return result, err
}

func (c *call) summary(did string, sum Summary) {
	if c.json() {
		c.Object(did, sum)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(sum.Records)) {
		c.Say("%s: %s", name, console.Some(sum.Records[name], "record", "records"))
	}
	c.Say("%s, with %s that belong to no record; checksum %s", did, console.Some(sum.Others, "item", "items"), sum.Sum)
}

func (c *call) opened(path string) (io.ReadCloser, error) {
	if path == "-" {
		return io.NopCloser(c.Stdin), nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errCall, err)
	}
	return file, nil
}

func importAll(ctx context.Context, c *call) error {
	if c.args[0] != "-" {
		if err := c.sound(c.args[0]); err != nil {
			return err
		}
	}
	if err := c.openStore(ctx); err != nil {
		return err
	}
	c.announce(shownURL(c.url()), c.args[0])
	if err := c.confirm(ctx, "Import it?"); err != nil {
		return err
	}
	file, err := c.opened(c.args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	in, err := c.open(ctx)
	if err != nil {
		return err
	}
	p := c.progress()
	sum, err := in.Import(ctx, file, c.importOptions(p))
	return c.importEnded(ctx, p, "imported", sum, err)
}

func (c *call) announce(to, from string) {
	text := "%s receives the content of %s. Until that is done, no other process may write to it."
	if c.mode == "replace" {
		text = "%s will have the content of %s, and nothing else. Until that is done, no other process may write to it."
	}
	c.Tell(text, to, from)
}

func (c *call) importOptions(p *progress) ImportOptions {
	return ImportOptions{Pace: p.pace(), Merge: c.mode == "merge", Replace: c.mode == "replace"}
}

func (c *call) importEnded(ctx context.Context, p *progress, did string, sum Summary, err error) error {
	switch {
	case errors.Is(err, ErrNotEmpty):
		return fmt.Errorf("%w: %w; --mode merge keeps its data, --mode replace deletes it", errRefused, err)
	case err != nil && (ctx.Err() != nil || codeOf(ctx, err) == exitStopped): // here, or in the app
		p.Done()
		if c.mode != "" {
			return fmt.Errorf("%w; to continue: %s", errStopped, p.again())
		}
		return fmt.Errorf("%w; to continue: %s", errStopped, p.again("--mode=merge"))
	case err != nil:
		return err
	}
	c.summary(did, sum)
	return nil
}

func (c *call) sound(path string) error {
	file, err := c.opened(path)
	if err != nil {
		return err
	}
	defer file.Close()
	h, sum, err := VerifyExport(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	c.Tell("%s is whole: made at %s, %s", path, moment(h.Made), recordsText(sum))
	return nil
}

func recordsText(sum Summary) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(sum.Records)) {
		all = append(all, fmt.Sprintf("%s of %s", console.Number(sum.Records[name]), name))
	}
	return cmp.Or(strings.Join(all, ", "), "no records")
}

func copyAll(ctx context.Context, c *call) (err error) {
	if c.args[0] == c.url() && cmp.Or(c.toTenant, c.tenant) == c.tenant {
		return fmt.Errorf("%w: both are %s", errCall, shownURL(c.url()))
	}
	from, err := c.copied(ctx)
	if err != nil {
		return err
	}
	var opts []kvmodel.Option
	if c.dry {
		opts = append(opts, kvmodel.ReadOnly())
	} else {
		c.announce(shownURL(c.args[0]), shownURL(c.url()))
		if err := c.agreed(ctx, "Copy it?"); err != nil {
			return err
		}
	}
	other := *c
	other.store, other.db, other.storeURL, other.makes = nil, nil, c.args[0], !c.dry
	other.tenant = cmp.Or(c.toTenant, c.tenant)
	to, err := other.open(ctx, opts...)
	defer func() { err = errors.Join(err, other.close(ctx)) }()
	if err != nil {
		return err
	}
	if c.dry {
		return c.differences(ctx, func(p Pace) (Differences, error) { return to.diff(ctx, from(p), onlyHere, onlyThere, p) })
	}
	p := c.progress()
	sum, err := to.importFrom(ctx, to.names(), c.importOptions(p), p.pace().begin("copy", "items", 0), from(Pace{Rate: c.rate}))
	return c.importEnded(ctx, p, "copied", sum, err)
}

// If an app has the file open, the source is an export of the app.
func (c *call) copied(ctx context.Context) (func(Pace) source, error) {
	a, err := c.app(ctx)
	if err != nil {
		return nil, err
	}
	if a != nil {
		return func(Pace) source { return c.exported(ctx) }, a.conn.Close()
	}
	in, err := c.reader(ctx)
	return func(p Pace) source { return in.all(ctx, "copy", p) }, err
}

func (c *call) exported(ctx context.Context) source {
	return func(f func([]item) error) (Summary, error) {
		a, err := c.app(ctx)
		if err != nil || a == nil {
			return Summary{}, cmp.Or(err, fmt.Errorf("%w: the app has stopped", errNotOpen))
		}
		args := []string{"export", "-", fmt.Sprint("--rate=", c.rate)}
		if c.tenant != "" {
			args = append(args, "--tenant="+c.tenant)
		}
		if err := c.request(a, request{Args: args}); err != nil {
			return Summary{}, errors.Join(err, a.conn.Close())
		}
		r, w := io.Pipe()
		defer r.Close()
		go func() {
			defer a.conn.Close()
			w.CloseWithError(c.relay(ctx, a, w))
		}()
		export, err := newExportReader(r)
		if err != nil {
			return Summary{}, err
		}
		return export.each(f)
	}
}

func (c *call) compare(ctx context.Context) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	file, err := c.opened(c.against)
	if err != nil {
		return err
	}
	defer file.Close()
	return c.differences(ctx, func(p Pace) (Differences, error) { return in.DiffFile(ctx, file, p) })
}

func (c *call) differences(ctx context.Context, diff func(Pace) (Differences, error)) error {
	d, err := long(ctx, c, diff)
	if err != nil {
		return err
	}
	for _, f := range d.First {
		c.show("difference", f, "%-10s %s", f.Says, f.What)
	}
	switch {
	case d.All == 0:
		c.Tell("identical: %s, checksum %s", console.Some(d.Same, "item", "items"), d.Sum)
		return nil
	case d.All > int64(len(d.First)):
		c.Tell("and %s more", console.Number(d.All-int64(len(d.First))))
	}
	c.Tell("%s, %s the same", console.Some(d.All, "difference", "differences"), console.Number(d.Same))
	return errDiffers
}

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

// A folder gets its name when all tables are complete.
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
