package boltkv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// copied is the file of a Follower. It has no log: what was shipped can be had again.
type copied struct {
	*Store
	at   point  // up to which all commits are in it
	term uint64 // of the last of them

	users sync.WaitGroup
}

// openCopy opens the copy at path.
func openCopy(path string) (c *copied, err error) {
	db, _, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	c = &copied{Store: newStore(db, path, Options{Now: time.Now})}
	st, err := c.readState()
	if err != nil {
		return nil, err
	}
	c.at = st.point
	term, err := c.meta(copyKey)
	switch {
	case err != nil:
		return nil, err
	case len(term) != 8:
		return nil, errors.New("it is a store of its own, not a copy that follows another")
	}
	c.term = binary.BigEndian.Uint64(term)
	return c, nil
}

// makeCopy makes a copy of the newest snapshot at path, and replaces what is there.
func makeCopy(ctx context.Context, from *archive.Archive, terms []archive.Term, path string) error {
	return replace(path, func(s *Store) error {
		b := s.builder()
		if _, err := b.fromSnapshot(ctx, from, terms, time.Time{}); err != nil {
			return err
		}
		if err := b.end(); err != nil {
			return err
		}
		return s.transact(func(tx *bolt.Tx) {
			meta := tx.Bucket(metaBucket)
			must(meta.Put(idKey, from.Store[:]))
			must(meta.Put(copyKey, copyMark(terms, b.seq)))
		})
	})
}

// copyMark returns what a copy has under copyKey after the commit of a number.
func copyMark(terms []archive.Term, seq uint64) []byte {
	term, _ := archive.TermOf(terms, seq)
	return binary.BigEndian.AppendUint64(nil, term)
}

// counts reports whether all commits of the copy count, now that there are these terms.
func (c *copied) counts(terms []archive.Term) bool {
	until, ok := archive.Until(terms, c.term)
	return !ok || c.at.seq <= until
}

// apply brings the commits to the copy that were shipped since.
func (c *copied) apply(ctx context.Context, from *archive.Archive, terms []archive.Term, head archive.Head) error {
	var some []commitlog.Record
	size := 0
	flush := func() error {
		if len(some) == 0 {
			return nil
		}
		defer func() { some, size = nil, 0 }()
		return c.applySome(terms, some)
	}
	err := from.Commits(ctx, terms, head, c.at.seq, func(r commitlog.Record) error {
		some, size = append(some, r), size+len(r.Body)
		if size < appliedBytes {
			return nil
		}
		return flush()
	})
	return errors.Join(flush(), err)
}

// applySome brings some commits to the copy, together.
func (c *copied) applySome(terms []archive.Term, some []commitlog.Record) error {
	at := after(&some[len(some)-1])
	var bad error
	err := c.update(func(t *tree) {
		for _, r := range some {
			bad = errors.Join(bad, decodeChanges(r.Body, func(key string, buf []byte) { t.set([]byte(key), c.unexpired(buf)) }))
		}
		t.sweep(sweptAtOnce)
		t.setState(func(st *state) { st.point = at })
		must(t.tx.Bucket(metaBucket).Put(copyKey, copyMark(terms, at.seq)))
	})
	if err := errors.Join(err, bad); err != nil {
		return fmt.Errorf("commits up to %d: %w", at.seq, err)
	}
	c.at = at
	c.term, _ = archive.TermOf(terms, at.seq)
	return nil
}
