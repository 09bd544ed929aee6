package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

func backup(ctx context.Context, c *call) error {
	to := c.args[0]
	if err := c.openStore(ctx); err != nil {
		return err
	}
	write := kv.PowersOf(c.store).Backup
	if write == nil {
		return fmt.Errorf("%w: %s is not a bolt file; back it up with the tools of its server", errRefused, shownURL(c.url()))
	}
	if to == "-" {
		return write(ctx, c.counted(c))
	}
	if err := c.writable(to, shownURL(c.url())); err != nil {
		return err
	}
	return writeWhole(to,
		func(file *os.File) error { return write(ctx, c.counted(file)) },
		func(path string) error { return c.isWhole(ctx, path, to) })
}

// writable returns errIdle after the message of a dry run.
func (c *call) writable(path, what string) error {
	if err := absent(path); err != nil || !c.dry {
		return err
	}
	c.Say("dry run: %s would be written to %s", what, path)
	return errIdle
}

func absent(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errRefused, cmp.Or(err, fmt.Errorf("%s exists", path)))
	}
	return nil
}

// writeWhole gives a file its name after check, which may be nil, has verified it.
func writeWhole(to string, write func(*os.File) error, check func(path string) error) error {
	file, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.part")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	err = write(file)
	err = cmp.Or(err, file.Sync())
	if err = cmp.Or(err, file.Close()); err != nil {
		return err
	}
	if check != nil {
		if err := check(file.Name()); err != nil {
			return err
		}
	}
	return durable.Rename(file.Name(), to)
}

func (c *call) counted(w io.Writer) io.Writer { return &counting{call: c, to: w} }

type counting struct {
	*call
	to io.Writer
	n  int64
}

func (w *counting) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.n += int64(n)
	w.Progress("backup " + console.Size(w.n))
	return n, err
}

func (c *call) isWhole(ctx context.Context, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errCall, err)
	}
	defer file.Close()
	found, err := kvopen.VerifyBackup(ctx, file)
	if err != nil {
		return fmt.Errorf("%s is not a complete backup: %w", name, err)
	}
	with := console.Some(int64(found.Items), "item", "items")
	if found.Commits > 0 {
		with += " and " + console.Some(int64(found.Commits), "commit", "commits") + " more"
	}
	c.Say("%s is whole: the store as it was at %s, with %s", name, moment(found.Taken), with)
	return c.damaged(found.Damaged)
}

func (c *call) damaged(n uint64) error {
	if n == 0 {
		return nil
	}
	c.Say("%s damaged when it was made", console.Some(int64(n), "item was", "items were"))
	return errDiffers
}

func moment(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func verify(ctx context.Context, c *call) error {
	switch at := c.arg(0); {
	case c.against != "":
		return c.compare(ctx)
	case at == "":
		return fmt.Errorf("%w: verify takes a FILE, the URL of a restored store, or --against EXPORT", errCall)
	case !c.verifiesFile():
		return c.verifyStore(ctx)
	case isExport(at):
		return c.sound(at)
	default:
		return c.isWhole(ctx, at, at)
	}
}

func (c *call) verifiesFile() bool {
	_, err := os.Stat(c.arg(0))
	return c.against == "" && (err == nil || !strings.Contains(c.arg(0), ":"))
}

func isExport(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	begin := make([]byte, len(magic))
	_, err = io.ReadFull(file, begin)
	return err == nil && string(begin) == magic
}

var markerKey = kv.NewClass("format", 1).Key("ringtree")

func (c *call) verifyStore(ctx context.Context) error {
	in, err := c.reader(ctx)
	if err != nil {
		return err
	}
	name := shownURL(c.url())
	_, err = kv.One(ctx, c.db.Store(), kv.OpGet(markerKey))
	if errors.Is(err, kv.ErrNotFound) {
		c.Say("%s has no data of this app: the key %s is missing; check --tenant", name, markerKey)
		return errDiffers
	}
	if err != nil {
		return err
	}
	st, err := in.Status(ctx)
	if err != nil {
		return err
	}
	r, err := c.checked(ctx, in, "", c.fault)
	if err != nil {
		return err
	}
	for _, text := range st.Warnings {
		c.Say("warning: %s", text)
	}
	c.unasked(r)
	holds := fmt.Sprintf("%s and %s", console.Some(r.Records, "record", "records"), console.Some(r.Keys, "key", "keys"))
	if !r.Newest.IsZero() {
		holds += ", the newest record of " + moment(r.Newest)
	}
	if len(st.Warnings) > 0 || !r.Well() {
		c.Say("%s is not whole, or not all of it could be checked: %s", name, strings.TrimSuffix(holds+"; "+countsText(r.Counts), "; "))
		return errDiffers
	}
	c.Say("%s is whole: %s", name, holds)
	return nil
}

func restore(ctx context.Context, c *call) error {
	from, to := c.args[0], filePath(c.args[1])
	info, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("%w: %w", errCall, err)
	}
	if err := absent(to); err != nil {
		return err
	}
	if !info.IsDir() && !c.until.IsZero() {
		return fmt.Errorf("%w: --until is for a shipped folder, and %s is a backup", errCall, from)
	}
	if isExport(from) {
		return fmt.Errorf("%w: %s is an export: %s", errCall, from, c.command("import", from))
	}
	switch {
	case c.dry && info.IsDir():
		c.Say("dry run: %s would be restored from %s", to, from)
		return nil
	case c.dry:
		return c.isWhole(ctx, from, from)
	case info.IsDir():
		return c.restoreShipped(ctx, from, to)
	}
	return c.restoreBackup(ctx, from, to)
}

func filePath(arg string) string {
	if path, ok := boltPath(arg); ok {
		return path
	}
	return arg
}

func (c *call) restoreBackup(ctx context.Context, from, to string) error {
	file, err := os.Open(from)
	if err != nil {
		return err
	}
	defer file.Close()
	found, err := kvopen.RestoreBackup(ctx, file, to)
	if err != nil {
		return err
	}
	c.Say("%s is the store as it was at %s", to, moment(found.Taken))
	return c.damaged(found.Damaged)
}

func (c *call) restoreShipped(ctx context.Context, from, to string) error {
	found, err := kvopen.RestoreShipped(ctx, from, c.until, to)
	if err != nil {
		return err
	}
	c.Say("%s is the store as it was at %s: the snapshot of %s, and %s since", to, moment(found.Known), moment(found.Snapshot),
		console.Some(int64(found.Commits), "commit", "commits"))
	if found.Known.Before(c.until) {
		c.Say("no later commit was shipped")
		return errDiffers
	}
	return nil
}

func compact(_ context.Context, c *call) error {
	path := filePath(c.args[0])
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errCall, err)
	}
	if c.dry {
		c.Say("dry run: %s, which takes %s, would be rewritten without its unused space", path, console.Size(info.Size()))
		return nil
	}
	done, err := kvopen.Compact(path)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotOpen, err)
	}
	c.Say("%s: %s, before %s", path, console.Size(done.After), console.Size(done.Before))
	return nil
}
