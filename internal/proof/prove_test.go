package proof_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
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

func TestPart_RefusesWhatIsNoDuration(t *testing.T) {
	t.Setenv(proof.Prove, "much")
	got := complaintOf(t, func(t testing.TB) { proof.Part(t, []int{1}, []int{1}) })
	if want := "RINGTREE_PROVE=much: want all or a duration such as 20s"; !strings.Contains(got, want) {
		t.Errorf("got %q, want %q in it", got, want)
	}
}

func TestRounds_AreFewOrAllOrUntilTheTimeIsUp(t *testing.T) {
	for prove, want := range map[string][]uint64{"": {1, 2}, "all": {1, 2, 3, 4, 5}} {
		t.Setenv(proof.Prove, prove)
		if diff := cmp.Diff(want, slices.Collect(proof.Rounds(t, 2, 5))); diff != "" {
			t.Errorf("%s=%s: mismatch (-want +got):\n%s", proof.Prove, prove, diff)
		}
	}
	t.Setenv(proof.Prove, "1ns")
	if got := slices.Collect(proof.Rounds(t, 2, 5)); len(got) != 1 {
		t.Errorf("when the time is up at once: %v, want one", got)
	}
	t.Setenv(proof.Prove, "1h")
	var got []uint64
	for n := range proof.Rounds(t, 2, 5) {
		if got = append(got, n); len(got) == 10 {
			break
		}
	}
	for i, n := range got {
		if n != got[0]+uint64(i) {
			t.Errorf("numbers that do not follow each other: %d", got)
		}
	}
}

func TestSweep_TakesMoreSeedsTheMoreIsProved(t *testing.T) {
	for _, name := range []string{"RINGTREE_SEED", "RINGTREE_SEEDS"} {
		t.Setenv(name, "") // so that it is as before when the test ends
		os.Unsetenv(name)
	}
	for prove, want := range map[string]int{"": 1, "all": 80, "1ns": 1} {
		t.Setenv(proof.Prove, prove)
		got := 0
		proof.Sweep(t, 4, kvtest.World{}, func(*kvtest.Sim) { got++ })
		if got != want {
			t.Errorf("%s=%s: %d seeds, want %d", proof.Prove, prove, got, want)
		}
	}
}
