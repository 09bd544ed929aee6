package journal

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestHead_OneThatIsBeingRemovedHasNoTick(t *testing.T) {
	ctx, s := t.Context(), memkv.New(memkv.Options{})
	for _, test := range []struct{ tick, want uint64 }{{7, 7}, {closedTick, 0}} {
		_, err := kv.One(ctx, s, kv.OpSet(HeadKey("p"), head{tick: test.tick}.encode()))
		if err == nil {
			err = listProcess(ctx, s, "p", true)
		}
		must(t, err)
		others, err := Others(ctx, s, func(string) bool { return false }, nil)
		if err != nil || len(others) != 1 {
			t.Fatalf("%d others, %v", len(others), err)
		}
		c, err := Read(ctx, s, "p")
		if o := others[0]; err != nil || o.Damaged != nil || o.Tick != test.want || c.Tick != test.want {
			t.Errorf("a head at %d shows %d, and read whole %d, want %d: %v, %v", test.tick, o.Tick, c.Tick, test.want, o.Damaged, err)
		}
	}
}

func TestProcesses_AFlippedBitOfTheListIsMadeUpForAndTwoAreNamed(t *testing.T) {
	want := []string{kv.RandomName(), kv.RandomName(), kv.RandomName()}
	list := encodeProcesses(want)
	for at := range 8 * len(list) {
		data := bytes.Clone(list)
		data[at/8] ^= 1 << (at % 8)
		if got := decodeProcesses(data); !slices.Equal(got, want) {
			t.Errorf("bit %d: got %q, want %q", at, got, want)
		}
		data[(at/8+len(list)/2)%len(list)] ^= 1
		if got := decodeProcesses(data); len(got) != 1 || checkName(got[0]) == nil {
			t.Errorf("bit %d and another: got %q", at, got)
		}
	}
	if got := decodeProcesses(list); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
