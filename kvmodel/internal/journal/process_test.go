package journal

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/plug"
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
		tick, _, err := others[0].Head()
		c, failed := Read(ctx, s, "p")
		if err != nil || failed != nil || tick != test.want || c.Tick != test.want {
			t.Errorf("a head at %d shows %d, and read whole %d, want %d: %v, %v", test.tick, tick, c.Tick, test.want, err, failed)
		}
	}
}

func TestProcesses_AnyFlippedBitOfTheListIsNamed(t *testing.T) {
	want := []string{newName(), newName(), newName()}
	list := encodeProcesses(want)
	for at := range 8 * len(list) {
		data := bytes.Clone(list)
		data[at/8] ^= 1 << (at % 8)
		got := decodeProcesses(data)
		sound := slices.DeleteFunc(slices.Clone(got), func(name string) bool { return checkName(name) != nil })
		if len(sound) == len(got) || len(sound) < len(want)-2 || len(plug.Without(sound, want)) > 0 {
			t.Errorf("bit %d: %q, of which %q are sound", at, got, sound)
		}
	}
	if got := decodeProcesses(list); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
