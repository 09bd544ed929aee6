package keytree

import (
	"errors"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestTree_ThatAnUndoneTransactionHasMadeIsMadeByTheNext(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	r := open(mem, func(c *Config) { c.Atomic = true })
	undone := errors.New("undone")
	lost := false
	for _, end := range []error{undone, nil} {
		err := kv.PowersOf(mem).Atomic(ctx, func(s kv.Store) error {
			in := *r
			in.s = s
			if m := r.known(s); m != nil {
				t.Errorf("a transaction knows the tree as %+v, which is not there", m)
			}
			in.set(t, "a", 1)
			in.set(t, "b", 2)
			lost = lost || r.Lost()
			return end
		})
		if err != end {
			t.Fatal(err)
		}
	}
	if r.checkInvariants(t, "a", "b"); lost || r.Lost() {
		t.Error("the tree is said to have lost something")
	}
}
