package proof_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestPart_YieldsFewOrAllOrSomeOfAll(t *testing.T) {
	few, all := []int{1, 2}, []int{1, 2, 3, 4, 5}
	for prove, want := range map[string][]int{"": few, "all": all, "1h": all} {
		t.Setenv(proof.Prove, prove)
		proof.NoDiff(t, cmp.Diff(want, slices.Sorted(proof.Part(t, few, all))), "%s=%s:", proof.Prove, prove)
	}
	t.Setenv(proof.Prove, "1ns")
	proof.Len(t, slices.Collect(proof.Part(t, few, all)), 1, "when the time is up at once")
	proof.Len(t, slices.Collect(proof.Part(t, nil, []int{})), 0, "of nothing")
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
	proof.NoDiff(t, cmp.Diff(first, chosen("c0ffee")), "mismatch (-first +second)")
	if slices.Equal(first, chosen("decade")) {
		t.Error("two commits choose the same")
	}
}

func counting(write func(s kv.Store, read kv.Result) error) func(*proof.Exploration) {
	return func(x *proof.Exploration) {
		ctx := context.Background()
		_ = x.Store().Do(ctx, []kv.Op{kv.OpSet("n", []byte("0"))})
		done := 0
		for _, name := range []string{"p", "q"} {
			x.Go(name, func(s kv.Store) {
				for {
					r, err := kv.One(ctx, s, kv.OpGet("n"))
					if err != nil {
						return
					}
					if err := write(s, r); !errors.Is(err, kv.ErrConflict) {
						if err == nil {
							done++
						}
						return
					}
				}
			})
		}
		x.Sees(func() string { return fmt.Sprint(done) })
		x.Always(func(s kv.Store) error {
			r, err := kv.One(ctx, s, kv.OpGet("n"))
			if n, _ := kv.ParseNumber(r.Value); err != nil || n < int64(done) {
				return fmt.Errorf("the number is %s, and %d have added to it", r.Value, done)
			}
			return nil
		})
	}
}

func nextOf(r kv.Result) []byte {
	n, _ := kv.ParseNumber(r.Value)
	return fmt.Append(nil, n+1)
}

func TestExplore_FindsTheOneOrderThatIsWrong(t *testing.T) {
	bounds := proof.Bounds{States: 1000}
	_, err := proof.TryExplore(t, bounds, counting(func(s kv.Store, r kv.Result) error {
		_, err := kv.One(context.Background(), s, kv.OpSet("n", nextOf(r)))
		return err
	}))
	if err == nil || !strings.Contains(err.Error(), "the number is 1, and 2 have added to it") || !strings.Contains(err.Error(), "p: get \"n\"") {
		t.Errorf("got %v, want the lost update and how it came about", err)
	}
}

func TestExplore_GoesThroughAllOrdersOfWhatIsRight(t *testing.T) {
	swap := counting(func(s kv.Store, r kv.Result) error {
		_, err := kv.One(context.Background(), s, kv.OpSwap("n", r.Version, nextOf(r)))
		return err
	})
	kind := proof.Explore(t, proof.Bounds{States: 1000}, swap)
	hostile := proof.Explore(t, proof.Bounds{Crashes: 1, Unclear: 1, States: 1000}, swap)
	if kind < 10 || hostile < 2*kind {
		t.Errorf("%d states, %d with a crash and an unclear write", kind, hostile)
	}
	if _, err := proof.TryExplore(t, proof.Bounds{States: 3}, swap); err == nil {
		t.Error("a limit of 3 states is kept to in silence")
	}
}

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
			proof.Must(t, err)
			op := c.op
			op.Key = key
			_, err = kv.One(ctx, s, op)
			if want := map[string]error{"other": c.right}[key]; !errors.Is(err, want) {
				t.Errorf("%s: %s answers %v, want %v", fault, key, err, want)
			}
		}
		r, _ := kv.One(ctx, s, kv.OpGet("k"))
		proof.NoDiff(t, cmp.Diff(c.want, string(r.Value)), "%s:", fault)
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

func twins(wrap wrapper) []proof.Named {
	return []proof.Named{{Name: "mem", Store: memkv.New(memkv.Options{})}, {Name: "other", Store: wrap(memkv.New(memkv.Options{}))}}
}

// differences are the ops that suffice to show a broken rule; 0: it does not show.
var differences = map[string]int{
	"Add overwrites":                                        2,
	"CompareAndSwap compares nothing":                       3,
	"CompareAndDelete compares nothing":                     3,
	"a version is a hash of the value":                      4,
	"Append creates":                                        2,
	"Append does not honor Unless":                          3,
	"Increment creates":                                     2,
	"Increment counts in floating point":                    3,
	"a number that loses a digit is padded":                 3,
	"numbers are trimmed of blanks that a client wrote":     2,
	"an oversize value removes the old one":                 3,
	"values are cut at a line end":                          2,
	"a negative TTL means none":                             2,
	"a Delete of an absent key succeeds":                    1,
	"Do returns an error for an answer":                     1,
	"one bad key spoils the trip":                           3,
	"a TTL of more than 30 days is a date":                  3,
	"the ops of a trip are done from the last to the first": 0, // allowed for different keys
}

func TestMetamorphic_ShowsADifferenceInFewOps(t *testing.T) {
	for _, b := range brokenStores {
		most, ok := differences[b.Name]
		if !ok {
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			story := mismatch(t, b.Wrap)
			if most == 0 {
				proof.Equal(t, story, "", "there is a difference after all")
				return
			}
			if got := strings.Count(story, " -> "); got < 1 || got > most {
				t.Errorf("shown in %d ops, want at most %d:\n%s", got, most, story)
			}
			for _, want := range []string{"seed ", "\tmem: ", "\tother: "} {
				proof.Contains(t, story, want)
			}
		})
	}
}

func mismatch(t *testing.T, wrap wrapper) string {
	for seed := range uint64(10) {
		story := complaintOf(t, func(t testing.TB) { proof.Metamorphic(t, seed, 500, twins(wrap)...) })
		if story != "" {
			return story
		}
	}
	return ""
}

func TestLinearizable_PassesForOneThatFailsNowAndThen(t *testing.T) {
	for _, fault := range []kvtest.Fault{kvtest.Unsent, kvtest.Lost, kvtest.Mute} {
		s := kv.Store(memkv.New(memkv.Options{}))
		for n := 10; n <= 200; n += 20 {
			s = kvtest.Faulty(s, n, fault)
		}
		proof.Linearizable(t, s, 4, 100, 1)
	}
}

func TestLinearizable_FailsForAStoreThatIsNot(t *testing.T) {
	for _, name := range []string{
		"Add overwrites", "CompareAndSwap compares nothing", "Append is two steps and forgets the TTL", "Increment is two steps",
		"a version is a hash of the value", "a Delete of an absent key succeeds",
	} {
		t.Run(name, func(t *testing.T) {
			story := nonlinear(t, brokenNamed(name).Wrap)
			for _, want := range []string{"seed ", "no order explains the answers about key", "client  "} {
				proof.Contains(t, story, want)
			}
		})
	}
}

func nonlinear(t *testing.T, wrap wrapper) string {
	for seed := range uint64(50) {
		story := complaintOf(t, func(t testing.TB) { proof.Linearizable(t, wrap(memkv.New(memkv.Options{})), 8, 50, seed) })
		if story != "" {
			return story
		}
	}
	return ""
}
