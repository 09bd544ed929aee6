package build

import (
	"context"
	"errors"
	"testing"
	"time"

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
