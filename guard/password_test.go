package guard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/guard"
)

var cheap = guard.HashCost{Passes: 1, Memory: 8, Threads: 1}

func TestPasswords_MatchWhatWasHashed(t *testing.T) {
	p := guard.NewPasswords(cheap)
	stored, err := p.Hash(t.Context(), "two bars in the snow")
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Fatalf("got %q, %v", stored, err)
	}
	other, err := p.Hash(t.Context(), "two bars in the snow")
	if err != nil || other == stored {
		t.Errorf("want another salt, got %q again, %v", other, err)
	}
	dearer := guard.NewPasswords(guard.HashCost{Passes: 2, Memory: 16, Threads: 1})
	for _, test := range []struct {
		stored, password string
		want             bool
	}{
		{stored, "two bars in the snow", true},
		{stored, "two bars in the snow ", false},
		{stored, "", false},
		{"", "", false},
		{"", "two bars in the snow", false},
		{stored[:len(stored)-4], "two bars in the snow", false},
		{"$2a$10$", "two bars in the snow", false},
	} {
		// A hash of another cost is matched at that cost.
		if got, err := dearer.Match(t.Context(), test.stored, test.password); got != test.want || err != nil {
			t.Errorf("%q and %q: want %v, got %v, %v", test.stored, test.password, test.want, got, err)
		}
	}
}

func TestPasswords_NobodyWaitsLongerThanTheirContext(t *testing.T) {
	p := guard.NewPasswords(cheap)
	gone, leave := context.WithCancel(t.Context())
	leave()
	waited := 0
	for range 100 {
		if _, err := p.Hash(gone, "two bars in the snow"); errors.Is(err, context.Canceled) {
			waited++
		}
	}
	if waited == 0 {
		t.Error("want some that have left not to be hashed")
	}
}
