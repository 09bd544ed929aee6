package build

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestState_IsReadAsItWasWritten(t *testing.T) {
	all := cmp.AllowUnexported(State{})
	for _, want := range []State{
		{},
		{
			Tokens: []string{"a", "b"}, Number: 3, Stage: Finished, Reached: enumeration.Reached{Number: 7, Key: "k"},
			Done: 1200, Total: 5000, Losers: []string{"x", "y:z"}, More: 2, owner: "me", beat: 9,
		},
		{Tokens: []string{"a"}, Stage: Entered, Own: map[string]string{"ByCode": "k\x00", "Newest": ""}, Losers: []string{"x"}},
	} {
		proof.NoDiff(t, cmp.Diff(want, decode(want.encode()), all), "mismatch")
	}
}

func TestState_IsStoredAsItAlwaysWas(t *testing.T) {
	golden := append([]byte{2, 'm', 'e', 1, 9, 3, 7, 0xb0, 9, 0x88, 0x27, 2, 1, 1, 'a', 1, 'k', 1, 'x'}, "\x30\x72\xcd\xd6"...)
	want := State{
		Tokens: []string{"a"}, Number: 3, Stage: Entered, Reached: enumeration.Reached{Number: 7, Key: "k"},
		Done: 1200, Total: 5000, Losers: []string{"x"}, More: 2, owner: "me", beat: 9,
	}
	proof.NoDiff(t, cmp.Diff(want, decode(golden), cmp.AllowUnexported(State{})), "mismatch")
	proof.NoDiff(t, cmp.Diff(golden, want.encode()), "encoded:")
}

func TestState_OfAnItemThatIsBrokenIsNone(t *testing.T) {
	for _, st := range []State{
		{Tokens: []string{"a"}, owner: "me", Done: 300},
		{Tokens: []string{"a"}, owner: "me", Own: map[string]string{"ByCode": "k"}},
	} {
		whole := st.encode()
		for n := range whole {
			if got := decode(whole[:n]); got.owner != "" || len(got.Tokens) > 0 {
				t.Errorf("%d of %d bytes are %+v", n, len(whole), got)
			}
		}
	}
}

func TestState_NamesAsManyLosersAsThereIsRoomFor(t *testing.T) {
	st := State{Tokens: []string{"a"}, Stage: Finished, More: 5}
	for i := range 40_000 {
		st.Losers = append(st.Losers, fmt.Sprintf("loser-%06d", i))
	}
	got := decode(st.encode())
	if len(st.encode()) > maxLosers+1000 || len(got.Losers) < 10_000 || int(got.More) != 5+40_000-len(got.Losers) {
		t.Errorf("%d losers and %d more in %d bytes", len(got.Losers), got.More, len(st.encode()))
	}
	if got.fits([]string{"a"}) {
		t.Error("a build that does not know all losers goes on with those it knows")
	}
}

func TestState_FitsTheTokensItWasMadeFor(t *testing.T) {
	st := State{Tokens: []string{"a", "b"}}
	for _, test := range []struct {
		tokens []string
		fits   bool
	}{{[]string{"a", "b"}, true}, {[]string{"b"}, true}, {[]string{"b", "c"}, false}, {nil, false}} {
		proof.Equal(t, st.fits(test.tokens), test.fits, "%q", test.tokens)
	}
}

func TestState_OfAnItemWithAFlippedBitIsNone(t *testing.T) {
	st := State{Tokens: []string{"a", "b"}, Number: 3, Reached: enumeration.Reached{Number: 7, Key: "k"}, Done: 1200, Losers: []string{"x"}, owner: "me", beat: 9}
	for at := range 8 * len(st.encode()) {
		data := st.encode()
		data[at/8] ^= 1 << (at % 8)
		proof.NoDiff(t, cmp.Diff(State{}, decode(data), cmp.AllowUnexported(State{})), "bit %d", at)
	}
}

func TestLease_EndsOnceAnotherProcessHasTakenTheBuildOver(t *testing.T) {
	ctx, s := t.Context(), memkv.New(memkv.Options{})
	now := time.Unix(1_700_000_000, 0)
	number := func(context.Context, bool) (int64, error) { return 1, nil }
	process := func(name string) *Item {
		return &Item{Store: s, Now: func() time.Time { return now }, Model: "M", Owner: name}
	}
	a, b := process("a"), process("b")
	mine, err := a.Claim(ctx, []string{"token"}, number)
	proof.Must(t, err)
	st := mine.Found
	st.Done = 100
	proof.Is(t, mine.Keep(ctx, s, st), nil)
	var busy *Busy
	for range 3 {
		if _, err = b.Claim(ctx, []string{"token"}, number); !errors.As(err, &busy) || busy.Done != 100 {
			t.Errorf("got %v, want Busy with what is done", err)
		}
		now = now.Add(29 * time.Second)
		proof.Is(t, mine.Beat(ctx), nil)
	}
	if _, err = b.Claim(ctx, []string{"token"}, number); !errors.As(err, &busy) {
		t.Errorf("got %v right after a beat, want Busy", err)
	}
	now = now.Add(30 * time.Second)
	theirs, err := b.Claim(ctx, []string{"token"}, number)
	if err != nil || theirs.Found.Done != 100 {
		t.Fatalf("the build is taken over at %+v, %v", theirs, err)
	}
	for _, err := range []error{mine.Keep(ctx, s, st), mine.Beat(ctx), mine.Release(ctx)} {
		proof.Is(t, err, ErrTaken)
	}
	proof.Is(t, theirs.End(ctx), nil)
	if _, exists, err := a.Read(ctx); exists || err != nil {
		t.Errorf("the item is there after the end: %v", err)
	}
}
