package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type nodes struct {
	order
	epoch  uint64
	name   string // prefix of every key
	root   string
	limit  int
	small  int
	dense  bool
	expire time.Time
	local  *Local
	truth  Truth
	now    func() time.Time

	shown bool      // reads are only displayed, maybe from memory
	began time.Time // zero: it may take any time
}

var errAgain = fmt.Errorf("%w: a node of a ranking has changed", kv.ErrConflict)

// errUnsure is an errAgain: the write may have succeeded.
var errUnsure = fmt.Errorf("%w, or not", errAgain)

// errLate: the tree may have moved to a new epoch since the operation began.
var errLate = fmt.Errorf("%w: the operation has taken too long", kv.ErrConflict)

func (p *nodes) key(name string) string { return p.keyBehind("", name) }

func (p *nodes) keyBehind(prefix, name string) string {
	if p.code != Words {
		return prefix + p.root + name
	}
	var room [longestKey]byte
	return string(p.code.appendName(append(append(room[:0], prefix...), p.root...), name))
}

const rootName = "key0"

func (p *nodes) keyName(name string) string { return rootName + p.key(name)[len(p.root):] }

// keys returns keys that share their memory.
func (p *nodes) keys(names []string) []string {
	size := 0
	for _, name := range names {
		size += len(p.root) + len(name)
	}
	var text strings.Builder
	text.Grow(size)
	var room [longestKey]byte
	keys := make([]string, len(names))
	for i, name := range names {
		begin := text.Len()
		text.WriteString(p.root)
		text.Write(p.code.appendName(room[:0], name))
		keys[i] = text.String()[begin:]
	}
	return keys
}

func (p *nodes) ttl() time.Duration { return until(p.expire, p.now()) }

func until(end, now time.Time) time.Duration {
	if end.IsZero() {
		return 0
	}
	return min(max(end.Sub(now), time.Second), kv.MaxTTL)
}

func (p *nodes) get(ctx context.Context, s kv.Store, names ...string) ([]node, error) {
	return p.getAt(ctx, s, names, p.keys(names))
}

func (p *nodes) getAt(ctx context.Context, s kv.Store, names, keys []string) ([]node, error) {
	results, err := p.read(ctx, s, keys)
	if err != nil {
		return nil, err
	}
	got := make([]node, len(names))
	for i, r := range results {
		if got[i], err = p.nodeOf(names[i], keys[i], r); err != nil {
			return nil, err
		}
		// A root that is a leaf is remembered too: the tree is small.
		if got[i].router != nil || names[i] == "" {
			p.local.remember(keys[i], got[i].router)
		}
	}
	return got, nil
}

// nodeOf decodes a node. One with the longest name is never a router.
func (p *nodes) nodeOf(name, key string, r kv.Result) (node, error) {
	got, err := p.decode(key, r)
	if len(name) >= p.code.maxBits() {
		got.router = nil
	}
	return got, err
}

func (p *nodes) decode(key string, r kv.Result) (node, error) {
	if kept, ok := r.Decoded.(*node); ok {
		shared := *kept
		shared.version = r.Version
		return shared, nil
	}
	if r.Err == nil {
		if known := p.local.leaf(key, r.Value); known != nil {
			return node{leaf: known, version: r.Version, size: len(r.Value)}, nil
		}
	}
	got, err := decodeNode(r)
	if got.leaf != nil {
		p.local.rememberLeaf(key, got.leaf, r.Value)
	}
	return got, err
}

var errMissing = errors.New("no node")

func decodeKept(value []byte) (any, int, error) {
	p, err := decodeNode(kv.Result{Value: value})
	if err != nil || p.missing() {
		return nil, 0, errMissing
	}
	size := int(unsafe.Sizeof(p))
	if p.leaf != nil {
		p.leaf.settled = len(p.leaf.counted()) == len(p.leaf.entries)
		size += len(value) + int(unsafe.Sizeof(*p.leaf)) + cap(p.leaf.entries)*int(unsafe.Sizeof(entry{}))
	} else {
		size += int(unsafe.Sizeof(*p.router))
	}
	return &p, size, nil
}

func (p *nodes) read(ctx context.Context, s kv.Store, keys []string) ([]kv.Result, error) {
	switch {
	case inside(s):
		return kv.GetAll(ctx, kv.Near(s), keys...)
	case !p.shown:
		return kv.GetAll(ctx, s, keys...)
	}
	results, err := kv.GetDecoded(ctx, kv.Near(s), decodeKept, keys...)
	if slices.ContainsFunc(results, func(r kv.Result) bool { return r.Near && r.Err != nil }) {
		// An absent node may be lost; memory cannot tell.
		return kv.GetAll(ctx, s, keys...)
	}
	return results, err
}

func (p *nodes) put(key string, old node, value []byte) kv.Op {
	return kv.OpReplace(key, old.version, value).For(p.ttl())
}

func (p *nodes) write(ctx context.Context, s kv.Store, key string, old node, value []byte) error {
	if p.late() {
		return errLate
	}
	_, err := kv.One(ctx, s, p.put(key, old, value))
	return refused(ctx, err)
}

func (p *nodes) writeRouter(ctx context.Context, s kv.Store, name string, old node, r *router) error {
	key := p.key(name)
	err := p.write(ctx, s, key, old, r.encode(nil))
	if err == nil {
		p.local.remember(key, r)
	}
	return err
}

func (p *nodes) late() bool { return p.tooLong(p.began) }

func (p *nodes) tooLong(began time.Time) bool {
	return !began.IsZero() && p.now().Sub(began) > times.Change
}

func refused(ctx context.Context, err error) error {
	switch {
	case kv.Raced(err):
		return errAgain
	case errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil:
		return errUnsure
	}
	return err
}

func again(err error) bool { return errors.Is(err, errAgain) }

func pause(ctx context.Context, s kv.Store, try int) error {
	return sleep(ctx, s, kv.Jitter(time.Millisecond<<min(try, 5)))
}

func sleep(ctx context.Context, s kv.Store, d time.Duration) error {
	if !kv.Pause(ctx, s, d) {
		return kv.TooLate(ctx)
	}
	return nil
}

func (p *nodes) splits(name string) bool { return len(name) < p.code.maxBits() }

func (p *nodes) size() int {
	if r, _ := p.local.router(p.key("")); r != nil {
		return r.members()
	}
	return 0
}

func together(ctx context.Context, s kv.Store, works ...func(kv.Store) error) error {
	if len(works) == 0 {
		return nil
	}
	return cmp.Or(kv.Together(ctx, s, works...)...)
}

func each[V any](ctx context.Context, s kv.Store, values []V, work func(s kv.Store, i int, v V) error) error {
	return cmp.Or(kv.Each(ctx, s, values, work)...)
}
