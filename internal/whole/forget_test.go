package whole_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// person is in every id and value of the one to be forgotten, and nowhere else.
const person = "jane"

// chosenBy are the keys of the boards and rings of a value. They stay when these are
// empty, and name the value.
var chosenBy = []string{"rank:Work:TopPriceByAuthor:", "rank:Offer:TopPriceByKind.ends:", "t:Work:NewestByAuthor:"}

// isChosenBy reports whether all that is said is that there was a board or a ring of a
// value.
func isChosenBy(key string, value []byte) bool {
	return slices.ContainsFunc(chosenBy, func(begin string) bool { return strings.HasPrefix(key, begin) }) &&
		!strings.Contains(string(value), person)
}

// tracesOf returns the items of s that have the person in their keys or values, other
// than those.
func tracesOf(t *testing.T, s *memkv.Store) (found []string) {
	t.Helper()
	for _, key := range s.Keys() {
		r, err := kv.One(ctx, s, kv.OpGet(key))
		if err == nil && strings.Contains(key+"="+string(r.Value), person) && !isChosenBy(key, r.Value) {
			found = append(found, fmt.Sprintf("%s=%q", key, r.Value))
		}
	}
	slices.Sort(found)
	return found
}

// eachKind runs f for each kind of store.
func eachKind(t *testing.T, f func(t *testing.T, s *memkv.Store, l *whole.Library)) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memkv.New(memkv.Options{})
				l, err := whole.Open(k.opened(s), kvmodel.Clock(time.Now))
				must(t, err)
				f(t, s, l)
				must(t, l.DB.Close(ctx))
			})
		})
	}
}

// A record of a model whose ids say nothing of the person.
func TestDelete_LeavesNoValueAfterTheSecondCleaning(t *testing.T) {
	eachKind(t, func(t *testing.T, s *memkv.Store, l *whole.Library) {
		o := &whole.Offer{ID: "7", Code: person, Kind: person, Price: 7, Until: time.Now().Add(48 * time.Hour)}
		must(t, l.Offers.Create(ctx, o))
		must(t, l.DB.Flush(ctx))
		must(t, l.Offers.Delete(ctx, "7"))
		must(t, l.DB.Flush(ctx))
		time.Sleep(time.Minute)
		if !strings.Contains(strings.Join(tracesOf(t, s), "\n"), "r:Offer:7=") {
			t.Error("before the second cleaning the tombstone does not name the places")
		}
		time.Sleep(90 * time.Minute)
		if diff := cmp.Diff([]string(nil), tracesOf(t, s)); diff != "" {
			t.Errorf("what is left of the values (-want +got)\n%s", diff)
		}
	})
}
