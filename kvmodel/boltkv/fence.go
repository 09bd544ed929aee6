package boltkv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// refusesWrites returns why nothing may be written; nil if it may.
func (s *Store) refusesWrites() *failure {
	if fail := s.fenced.Load(); fail != nil {
		return fail
	}
	if !s.opts.Strict {
		return nil
	}
	reached := s.reached.Load()
	switch {
	case reached == nil:
		return unavailable(errors.New("the store is strict, and Follow has not reached its folder yet"))
	case time.Since(*reached) > strictFor:
		return unavailable(fmt.Errorf("the store is strict, and Follow has not reached its folder for %v", time.Since(*reached).Round(time.Second)))
	}
	return nil
}

// fence makes the store refuse writes, since another file has taken over.
func (s *Store) fence(by string) {
	s.fenced.CompareAndSwap(nil, unavailable(fmt.Errorf("%w: %s", ErrFenced, by)))
}

// readFence fences a store that was fenced when it was open last.
func (s *Store) readFence() error {
	by, err := s.meta(fencedKey)
	if err == nil && by != nil {
		s.fence(string(by))
	}
	return err
}

// replacedBy ends the shipping, since another file has begun the term next. What the store
// has acknowledged and the other file lacks, it keeps.
func (sh *shipper) replacedBy(ctx context.Context, next archive.Term) error {
	by := fmt.Sprintf("%s, with term %d, since %s", next.Who, next.Number, next.Since.UTC().Format(time.RFC3339))
	sh.fence(by)
	if err := sh.setMeta(fencedKey, []byte(by)); err != nil {
		return err
	}
	terms, err := sh.to.Terms(ctx)
	if err != nil {
		return err
	}
	until, ok := archive.Until(terms, sh.term.Number)
	if !ok {
		return fmt.Errorf("%w: %s; it does not say yet up to where commits of this file count", errReplaced, by)
	}
	path := fmt.Sprintf("%s.unshipped%d", sh.path, sh.term.Number)
	n, err := sh.keepUnshipped(ctx, path, until)
	if err != nil {
		return fmt.Errorf("%w: %s; keeping what that lacks: %w", errReplaced, by, err)
	}
	sh.note(func(done *Shipping) { done.Unshipped = n })
	if n == 0 {
		return fmt.Errorf("%w: %s", ErrFenced, by)
	}
	return fmt.Errorf("%w: %s; %d commits of this file that it lacks are in %s", ErrFenced, by, n, path)
}

// errReplaced: another file has taken over, and there is something left to do.
var errReplaced = errors.New("another file has taken over")

// keepUnshipped writes the commits behind number until to a file at path, as Backup would,
// and returns how many they are.
func (sh *shipper) keepUnshipped(ctx context.Context, path string, until uint64) (n uint64, err error) {
	err = writeWhole(path, func(file io.Writer) error {
		to, err := commitlog.NewWriter(file, commitlog.Header{Store: sh.id, First: until + 1})
		if err != nil {
			return err
		}
		last := point{seq: until}
		keep := func(r commitlog.Record) error {
			if r.Seq <= last.seq {
				return nil
			}
			if last = after(&r); r.End || len(r.Body) == 0 {
				return nil
			}
			n++
			return to.Write(r)
		}
		// A piece may have come too late to count.
		if err := sh.to.Beyond(ctx, sh.term.Number, until, keep); err != nil {
			return err
		}
		err = eachCommit(sh.readers(), func(r commitlog.Record, _ commitlog.Mark) error { return keep(r) })
		if err != nil {
			return err
		}
		return to.Write(commitlog.Record{Seq: last.seq, Time: last.time, Version: last.version, End: true})
	})
	if err == nil && n == 0 {
		err = os.Remove(path)
	}
	return n, err
}

// writeWhole makes a file at path of what write writes, or none.
func writeWhole(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path+".making", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(file)
	err = errors.Join(write(buffered), buffered.Flush())
	if err == nil {
		err = syncData(file)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return durable.Rename(file.Name(), path)
}
