package boltkv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// VerifyBackup reads the output of Backup, and returns an ErrDamaged if it is incomplete.
func VerifyBackup(ctx context.Context, r io.Reader) (Snapshot, error) {
	found, err := readBackup(ctx, r, func(commitlog.Record) error { return nil })
	if err != nil {
		return found, fmt.Errorf("boltkv: verify a backup: %w", err)
	}
	return found, nil
}

// RestoreBackup creates a store at path from the output of Backup. The path must not exist, and
// does not after an error.
func RestoreBackup(ctx context.Context, r io.Reader, path string) (Snapshot, error) {
	var found Snapshot
	err := build(path, func(b *builder) (err error) {
		found, err = readBackup(ctx, r, b.add)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("boltkv: restore %s: %w", path, plainer(path, err))
	}
	return found, nil
}

func build(path string, fill func(*builder) error) error {
	if path == "" {
		return errors.New("the path is empty")
	}
	for _, taken := range []string{path, path + ".log0", path + ".log1"} {
		if _, err := os.Lstat(taken); err == nil {
			return &fs.PathError{Op: "make", Path: taken, Err: fs.ErrExist}
		}
	}
	return makeFile(path, path+".making", func(path string) error { return buildAt(path, fill) })
}

// makeFile lets fill create the file making, and then renames it to path. After an error path is
// unchanged.
func makeFile(path, making string, fill func(path string) error) error {
	if err := os.Remove(making); err != nil && !isMissing(err) {
		return err
	}
	if err := fill(making); err != nil {
		_ = os.Remove(making)
		return err
	}
	return durable.Rename(making, path)
}

func buildAt(path string, fill func(*builder) error) (err error) {
	db, _, err := openFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.NoSync = true
	s := newStore(db, path, Options{Now: time.Now})
	if _, err := s.format(); err != nil {
		return err
	}
	b := &builder{s, newTable(0)}
	if err := fill(b); err != nil {
		return err
	}
	if err := b.end(); err != nil {
		return err
	}
	trim(path, db)
	return db.Sync()
}

type builder struct {
	*Store
	*table
}

func (b *builder) add(r commitlog.Record) error {
	b.point = point{max(b.seq, r.Seq), max(b.time, r.Time), max(b.version, r.Version)}
	if err := changesIn(r, b.set); err != nil {
		return err
	}
	if b.table.bytes < b.limits.turn {
		return nil
	}
	return b.flush()
}

func (b *builder) flush() error {
	_, broken, err := b.moveItems(b.table)
	clear(b.items)
	b.table.bytes = 0
	return cmp.Or(err, broken)
}

func (b *builder) end() error {
	if err := b.flush(); err != nil {
		return err
	}
	b.seq = 0 // The new store numbers its commits anew.
	return b.update(func(tr *tree) { tr.setState(func(st *state) { st.point = b.point }) })
}

func readBackup(ctx context.Context, from io.Reader, f func(commitlog.Record) error) (found Snapshot, err error) {
	r, err := commitlog.NewReader(from)
	if err != nil {
		return found, damaged(err)
	}
	end, err := r.Each(func(c commitlog.Record) error {
		if err := cmp.Or(ctx.Err(), found.count(c)); err != nil {
			return err
		}
		return f(c)
	})
	if err != nil {
		return found, fmt.Errorf("after %d items and %d commits: %w", found.Items, found.Commits, damaged(err))
	}
	found.Taken = time.Unix(0, end.Time)
	return found, f(end)
}

func (found *Snapshot) count(r commitlog.Record) error {
	if !r.Items {
		found.Commits++
	}
	return changesIn(r, func(key string, buf []byte) {
		if buf == nil {
			return
		}
		if r.Items {
			found.Items++
		}
		if it, _ := held(key, buf); it.damaged != nil {
			found.Damaged++
		}
	})
}

// changesIn calls f for each change in a record of commits, or for each item in one of blocks.
func changesIn(r commitlog.Record, f func(key string, buf []byte)) error {
	each := f
	if r.Items {
		each = func(first string, buf []byte) {
			var b blockReader
			for b.must(bytesOf(first), buf); b.next(); {
				it := b.item(b.fullKey())
				if it.damaged != nil {
					f(string(b.fullKey()), []byte{})
					continue
				}
				f(string(b.fullKey()), it.encode(string(b.fullKey()), nil))
			}
		}
	}
	var err error
	if broken := onPage(func() { err = decodeChanges(r.Body, each) }); cmp.Or(err, broken) != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, cmp.Or(err, broken))
	}
	return nil
}
