package proof_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const swapping = "TestExplore_GoesThroughAllOrdersOfWhatIsRight"

func TestNotices_AllOrdersOfASwapFindOneThatDoesNotCompare(t *testing.T) {
	proof.Notices(t, swapping, "blind cas n")
}

func TestNotices_ATestThatPassesOrIsNotThereIsAnError(t *testing.T) {
	for _, c := range [][2]string{{swapping, "blind add n"}, {swapping, "blind cas m"}, {"TestOfNothing", "blind cas n"}} {
		if err := proof.TryNotices(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[0]+" passes") {
			t.Errorf("%s with %q: got %v", c[0], c[1], err)
		}
	}
}

func TestFaults_BreakOnePromiseOfTheKeysTheyName(t *testing.T) {
	ctx, sealed := t.Context(), kv.OpAppend("", []byte("+"))
	sealed.Unless = []byte("old")
	for fault, c := range map[string]struct {
		op    kv.Op
		right error  // the answer to op on an item that is old
		want  string // the value of k after the answer nil; "" if it is gone
	}{
		"blind add k":    {kv.OpAdd("", []byte("new")), kv.ErrExists, "new"},
		"blind cas k":    {kv.OpSwap("", 1<<60, []byte("new")), kv.ErrConflict, "new"},
		"blind cdel k":   {kv.OpDrop("", 1<<60), kv.ErrConflict, ""},
		"blind append k": {sealed, kv.ErrSealed, "old+"},
		"lost set k":     {kv.OpSet("", []byte("new")), nil, "old"},
		"lost delete k":  {kv.OpDelete(""), nil, "old"},
	} {
		t.Setenv("RINGTREE_FAULT", fault)
		s := proof.WithFault(memkv.New(memkv.Options{}))
		for _, key := range []string{"k", "other"} {
			_, err := kv.One(ctx, s, kv.OpAdd(key, []byte("old")))
			if err != nil {
				t.Fatal(err)
			}
			op := c.op
			op.Key = key
			_, err = kv.One(ctx, s, op)
			if want := map[string]error{"other": c.right}[key]; !errors.Is(err, want) {
				t.Errorf("%s: %s answers %v, want %v", fault, key, err, want)
			}
		}
		r, _ := kv.One(ctx, s, kv.OpGet("k"))
		if diff := cmp.Diff(c.want, string(r.Value)); diff != "" {
			t.Errorf("%s: mismatch (-want +got):\n%s", fault, diff)
		}
	}
}

func TestFaults_OfATransactionThatIsTornTheFirstWriteIsKept(t *testing.T) {
	t.Setenv("RINGTREE_FAULT", "torn")
	mem := memkv.New(memkv.Options{})
	s := proof.WithFault(mem)
	for _, want := range []int{1, 3, 3} {
		err := kv.PowersOf(s).Atomic(t.Context(), func(s kv.Store) error {
			return s.Do(context.Background(), []kv.Op{kv.OpSet("a", nil), kv.OpSet("b", nil), kv.OpSet("c", nil)})
		})
		if got := mem.Len(); err != nil || got != want {
			t.Errorf("%d items, %v; want %d", got, err, want)
		}
	}
}
