package boltkv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
)

// Promoted says what Promote has done.
type Promoted struct {
	Term uint64    // in which the store ships from now on
	Last time.Time // when the last commit was made that it has
}

// promoteWait is how long Promote waits for what the other file was shipping, and until
// that, if it is strict, takes no writes any more.
const promoteWait = strictFor + time.Second

// Promote makes the copy at path, which must not be open, the store that is written and
// that ships to the folder. If there is no copy, Promote makes one. The file that was
// written so far takes no writes as soon as it sees that; what it has acknowledged and not
// shipped, it keeps beside itself.
//
// Then the store is opened like any other, and Follow ships it to the same folder. A
// Promote that has failed, or was killed, is called again.
func Promote(ctx context.Context, folder Folder, path string) (Promoted, error) {
	done, err := promote(ctx, folder, path, promoteWait)
	if err != nil {
		return Promoted{}, fmt.Errorf("boltkv: promote %s: %w", path, plainer(path, archived(err)))
	}
	return done, nil
}

func promote(ctx context.Context, folder Folder, path string, wait time.Duration) (done Promoted, err error) {
	f := &Follower{path: path, from: &archive.Archive{Folder: folder}}
	f.following.Store(new(Following))
	if err := f.open(ctx); err != nil {
		return done, err
	}
	defer func() { err = errors.Join(err, f.copy.closeFiles()) }()
	if trouble := f.Following().Trouble; trouble != nil {
		return done, trouble
	}
	t, err := f.take(ctx, folder)
	if err != nil {
		return done, err
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return done, ctx.Err()
	}
	if err := f.catchUp(ctx); err != nil {
		return done, err
	}
	at := f.copy.at
	if err := f.from.Start(ctx, t.number, at.seq); err != nil {
		return done, err
	}
	t.taken = true
	err = f.copy.transact(func(tx *bolt.Tx) {
		meta := tx.Bucket(metaBucket)
		must(meta.Put(termKey, t.encode()))
		must(meta.Delete(copyKey))
	})
	return Promoted{Term: t.number, Last: time.Unix(0, at.time)}, err
}

// take begins the next term for the copy, unless it has begun it already. The copy notes it
// before, so that after a crash it knows the term for its own.
func (f *Follower) take(ctx context.Context, folder Folder) (tenure, error) {
	t, err := f.copy.tenure()
	if err != nil {
		return t, err
	}
	latest := f.terms[len(f.terms)-1]
	if latest.Number == t.number && latest.Token == t.token {
		return t, nil
	}
	t = tenure{number: latest.Number + 1, token: archive.NewToken(), folder: folderName(folder)}
	if err := f.copy.setMeta(termKey, t.encode()); err != nil {
		return t, err
	}
	err = f.from.Take(ctx, archive.Term{Number: t.number, Token: t.token, Who: who(f.path), Since: time.Now()})
	if errors.Is(err, os.ErrExist) {
		err = fmt.Errorf("another file has begun term %d at the same time", t.number)
	}
	return t, err
}
