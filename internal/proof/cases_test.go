package proof_test

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func caseNamed(t *testing.T, name string) kvtest.Case {
	t.Helper()
	for _, c := range kvtest.Cases() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no case %q", name)
	return kvtest.Case{}
}

func complaint(t *testing.T, name string, m kvtest.Maker) string {
	t.Helper()
	c := caseNamed(t, name)
	return complaintOf(t, func(t testing.TB) { c.Check(t, m) })
}

// A case in which goroutines must collide is tried up to a hundred times.
func failureOf(t *testing.T, name string, wrap wrapper) string {
	t.Helper()
	chances := 1
	if strings.HasPrefix(name, "concurrent/") || name == "atomic/isolated" {
		chances = 100
	}
	for range chances {
		if failure := complaint(t, name, inMemory(memkv.Options{}, wrap)); failure != "" {
			return failure
		}
	}
	return ""
}

func TestCases_FailForAStoreThatBreaksTheirRule(t *testing.T) {
	for _, b := range brokenStores {
		t.Run(b.Name, func(t *testing.T) {
			for name := range strings.FieldsSeq(b.Cases) {
				failure := failureOf(t, name, b.Wrap)
				if failure == "" {
					t.Errorf("case %s passes", name)
				} else if !strings.Contains(failure, "the rule: ") {
					t.Errorf("case %s fails without its rule: %s", name, failure)
				}
			}
		})
	}
}

func TestCases_FailForAMakerThatDoesNotKeepItsWord(t *testing.T) {
	forgetful := inMemory(memkv.Options{}, bare)
	forgetful.Open = func(testing.TB, string) kv.Store { return memkv.New(memkv.Options{}) }
	oneForAll := inMemory(memkv.Options{}, bare)
	all := oneForAll.Open(t, "all")
	oneForAll.Open = func(testing.TB, string) kv.Store { return neverClosed(all) }
	for _, c := range []struct {
		name  string
		maker kvtest.Maker
		cases string
	}{
		{"each Open is another store", forgetful, "kept/values kept/every-write clients/see-each-other clients/add clients/stale clients/version-handed-over"},
		{"all names are one store", oneForAll, "clients/apart"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name := range strings.FieldsSeq(c.cases) {
				if complaint(t, name, c.maker) == "" {
					t.Errorf("case %s passes", name)
				}
			}
		})
	}
}
