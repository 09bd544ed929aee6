package proof_test

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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
				if story != "" {
					t.Errorf("there is a difference after all: %s", story)
				}
				return
			}
			if got := strings.Count(story, " -> "); got < 1 || got > most {
				t.Errorf("shown in %d ops, want at most %d:\n%s", got, most, story)
			}
			for _, want := range []string{"seed ", "\tmem: ", "\tother: "} {
				if !strings.Contains(story, want) {
					t.Errorf("the story lacks %q:\n%s", want, story)
				}
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
				if !strings.Contains(story, want) {
					t.Errorf("the story lacks %q:\n%.3000s", want, story)
				}
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
