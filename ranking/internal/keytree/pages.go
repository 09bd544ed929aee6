package keytree

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// pages are the pages of one epoch of a tree, as one operation works on them.
type pages struct {
	order
	epoch  uint64
	name   string // of the tree and the epoch: what the pages' keys begin with
	limit  int    // entries of a leaf
	small  int    // members of a tree whose counts are exact
	expire time.Time
	local  *Local
	truth  Truth
	now    func() time.Time

	began time.Time // of the operation; zero: it may take any time
}

// errAgain: the page has changed, so what was to be done must be begun again.
var errAgain = fmt.Errorf("%w: a page of a ranking changed meanwhile", kv.ErrConflict)

// errLate: the operation has taken so long that it must not write any more,
// since the tree may have moved to a new epoch without it.
var errLate = fmt.Errorf("%w: the operation has taken too long", kv.ErrConflict)

const maxOperation = 10 * time.Second

func (p *pages) key(name string) string { return p.name + ":" + nodeName(name) }

// nodeName is how the page called name ends its key: the root is key0.
func nodeName(name string) string { return "key0" + name }

func (p *pages) keys(names []string) []string {
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = p.key(name)
	}
	return keys
}

func (p *pages) ttl() time.Duration {
	if p.expire.IsZero() {
		return 0
	}
	return min(max(p.expire.Sub(p.now()), time.Second), kv.MaxTTL)
}

// get reads pages in one trip. Routers are remembered.
func (p *pages) get(ctx context.Context, s kv.Store, names ...string) ([]page, error) {
	keys := p.keys(names)
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	got := make([]page, len(names))
	for i, r := range results {
		if got[i], err = decodePage(r); err != nil {
			return nil, err
		}
		// No page of the longest name is ever split.
		if len(names[i]) >= maxBits {
			got[i].router = nil
		}
		// Of the root it is worth knowing that it is a leaf: that of a small tree.
		if got[i].router != nil || names[i] == "" {
			p.local.remember(keys[i], got[i].router)
		}
	}
	return got, nil
}

// put returns the op that stores value in the place of old under name.
func (p *pages) put(name string, old page, value []byte) kv.Op {
	if old.version == 0 {
		return kv.OpAdd(p.key(name), value).For(p.ttl())
	}
	return kv.OpSwap(p.key(name), old.version, value).For(p.ttl())
}

// write stores value in the place of old. errAgain: old is not there any more,
// or it is unclear whether it was replaced; whoever reads again will see.
func (p *pages) write(ctx context.Context, s kv.Store, name string, old page, value []byte) error {
	if p.late() {
		return errLate
	}
	_, err := kv.One(ctx, s, p.put(name, old, value))
	if refused(err) || errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil {
		return errAgain
	}
	return err
}

// late tells whether the operation must not write any more.
func (p *pages) late() bool { return !p.began.IsZero() && p.now().Sub(p.began) > maxOperation }

// refused tells whether a write was refused because the item has changed.
func refused(err error) bool {
	return errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound) || errors.Is(err, kv.ErrExists)
}

// again tells whether what ended in err is to be begun again.
func again(err error) bool { return errors.Is(err, errAgain) }

// pause waits for a short random time, longer with each try, or until ctx ends.
func pause(ctx context.Context, try int) error {
	limit := uint64(time.Millisecond) << min(try, 5)
	timer := time.NewTimer(time.Duration(binary.BigEndian.Uint64(randomBytes()) % limit))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", kv.ErrUnavailable, ctx.Err())
	}
}

// randomBytes returns 16 bytes that nobody else has.
func randomBytes() []byte {
	b := make([]byte, 16)
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b)
	return b
}
