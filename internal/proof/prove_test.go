package proof_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestPart_YieldsFewOrAllOrSomeOfAll(t *testing.T) {
	few, all := []int{1, 2}, []int{1, 2, 3, 4, 5}
	for prove, want := range map[string][]int{"": few, "all": all, "1h": all} {
		t.Setenv(proof.Prove, prove)
		if diff := cmp.Diff(want, slices.Sorted(proof.Part(t, few, all))); diff != "" {
			t.Errorf("%s=%s: mismatch (-want +got):\n%s", proof.Prove, prove, diff)
		}
	}
	t.Setenv(proof.Prove, "1ns")
	if got := slices.Collect(proof.Part(t, few, all)); len(got) != 1 {
		t.Errorf("when the time is up at once: %v, want one", got)
	}
	if got := slices.Collect(proof.Part(t, nil, []int{})); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

func TestPart_ACommitChoosesTheSameAgain(t *testing.T) {
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	t.Setenv(proof.Prove, "1h")
	chosen := func(by string) []int {
		t.Setenv(proof.ProveBy, by)
		return slices.Collect(proof.Part(t, nil, all))
	}
	first := chosen("c0ffee")
	if diff := cmp.Diff(first, chosen("c0ffee")); diff != "" {
		t.Errorf("mismatch (-first +second):\n%s", diff)
	}
	if slices.Equal(first, chosen("decade")) {
		t.Error("two commits choose the same")
	}
}
