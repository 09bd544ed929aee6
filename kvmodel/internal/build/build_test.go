package build

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestLease_EndsOnceAnotherProcessHasTakenTheBuildOver(t *testing.T) {
	ctx, s := t.Context(), memkv.New(memkv.Options{})
	now := time.Unix(1_700_000_000, 0)
	number := func(context.Context, bool) (int64, error) { return 1, nil }
	process := func(name string) *Item {
		return &Item{Store: s, Now: func() time.Time { return now }, Model: "M", Owner: name}
	}
	a, b := process("a"), process("b")
	mine, err := a.Claim(ctx, []string{"token"}, number)
	if err != nil {
		t.Fatal(err)
	}
	st := mine.Found
	st.Done = 100
	if err := mine.Keep(ctx, s, st); err != nil {
		t.Error(err)
	}
	var busy *Busy
	for range 3 {
		if _, err = b.Claim(ctx, []string{"token"}, number); !errors.As(err, &busy) || busy.Done != 100 {
			t.Errorf("got %v, want Busy with what is done", err)
		}
		now = now.Add(29 * time.Second)
		if err := mine.Beat(ctx); err != nil {
			t.Error(err)
		}
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
		if !errors.Is(err, ErrTaken) {
			t.Errorf("the first owner got %v", err)
		}
	}
	if err := theirs.End(ctx); err != nil {
		t.Error(err)
	}
	if _, exists, err := a.Read(ctx); exists || err != nil {
		t.Errorf("the item is there after the end: %v", err)
	}
}

func TestMistakes_OfLeasesAreNoticed(t *testing.T) {
	const item = "kvmodel/internal/build/build.go"
	proof.Mistakes(t, "./kvmodel/internal/build", "TestLease_|TestState_", nil, []proof.Mistake{
		proof.Wrong("a beat is not seen",
			item, "		now.beat++\n", "",
		),
		proof.Wrong("a beat that was not seen is as good as one that was",
			item, "st.owner != i.owner || st.beat != i.beat", "st.owner != i.owner",
		),
	})
}

func TestMistakes_OfTakingABuildOverAreNoticed(t *testing.T) {
	const item = "kvmodel/internal/build/build.go"
	proof.Mistakes(t, "./kvmodel/internal/build", "TestModels_", nil, []proof.Mistake{
		proof.Wrong("who is not the owner any more goes on",
			item, "	if err == nil && now.owner != l.item.Owner {", "	if err == nil && version == 0 {",
		),
		proof.Wrong("an owner writes over what another has written",
			item, "		now, version, err := l.read(ctx, s)\n", "		now, _, err := l.read(ctx, s)\n",
			item, "kv.OpSwap(l.item.key(), version, now.encode())", "kv.OpSet(l.item.key(), now.encode())",
		),
		proof.Wrong("a claim writes over what the owner has written",
			item, "kv.OpReplace(i.key(), version, st.encode())", "kv.OpSet(i.key(), st.encode())",
		),
		proof.Wrong("a build of another token is gone on with",
			item, "version == 0 || !st.fits(tokens)", "version == 0",
		),
		proof.Wrong("an owner that is dead is waited for",
			item, "return now.Sub(i.since) >= deadAfter", "return false",
		),
	})
}
