package memberlog

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Erase is EraseMany for one id.
func (l *Logs) Erase(ctx context.Context, s kv.Store, place, id string, rev uint64) (gone bool, err error) {
	return l.EraseMany(ctx, s, place, map[string]uint64{id: rev})
}

// racing is a store in which others append before each swap of a segment.
type racing struct {
	kv.Store
	appends func()
}

func (r racing) Powers() kv.Powers { return kv.PowersOf(r.Store) }

func (r racing) Do(ctx context.Context, ops []kv.Op) error {
	if slices.ContainsFunc(ops, func(op kv.Op) bool { return op.Kind == kv.CompareAndSwap && strings.Contains(op.Key, "#") }) {
		r.appends()
	}
	return r.Store.Do(ctx, ops)
}

func TestErase_EndsThoughOthersAlwaysAppendFirst(t *testing.T) {
	eachKind(t, func(t *testing.T, _ *memkv.Store, s kv.Store) {
		synctest.Test(t, func(t *testing.T) {
			ctx := t.Context()
			l, wait := prompt(s, small)
			want := fill(t, l, wait, 20)
			other := fresh(s)
			revs := make(map[string]uint64)
			for _, id := range want[:10] {
				revs[id] = 2
				must(t, l.Write(ctx, s, place, Entry{ID: id, Rev: 2, At: time.Now().Unix()}))
			}
			rev := uint64(0)
			busy := racing{s, func() {
				rev++
				must(t, other.Write(ctx, s, place, Entry{ID: "other", Rev: rev, In: true}))
			}}
			_, err := l.EraseMany(ctx, busy, place, revs)
			must(t, err)
			got := entriesOf(t, l)
			if !slices.Equal(got, append(want[10:], "other")) {
				t.Errorf("the entries left are %q", got)
			}
		})
	})
}
