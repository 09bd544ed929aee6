package whole_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// One bit of a stored item flips, of every class, under a process that has used it and
// before one starts. Whatever the library answers from then on must be what the same
// library answers whose items are sound, or an error that says what is wrong. How many
// answers say so shows how far the damage reaches: no further than what the item alone
// holds.

// flip changes one bit of a value.
type flip struct {
	at  spot
	bit byte
}

type spot string

const (
	atFirst  spot = "first"
	inMiddle spot = "middle"
	atLast   spot = "last"
)

// of returns value with the bit changed. An empty value has none.
func (f flip) of(value []byte) []byte {
	value = slices.Clone(value)
	if len(value) > 0 {
		value[map[spot]int{atFirst: 0, inMiddle: len(value) / 2, atLast: len(value) - 1}[f.at]] ^= f.bit
	}
	return value
}

func (f flip) String() string { return fmt.Sprintf("bit %02x of the %s byte", f.bit, f.at) }

// toDigit makes another digit of the last one of a number, and toLetter makes a letter of
// its first digit.
var toDigit, toLetter = flip{atLast, 0x01}, flip{atFirst, 0x40}

// flips are tried one after another with the keys of a class.
func flips(value []byte) []flip {
	if _, err := kv.ParseNumber(value); err == nil {
		return []flip{toDigit, toLetter, toLetter}
	}
	return []flip{{inMiddle, 0x10}, {atLast, 0x01}, {atFirst, 0x01}}
}

// damagedClass is lostClass, and of records and counters it also says whose they are.
func damagedClass(key string, value []byte) string {
	parts := strings.SplitN(key, ":", 4)
	switch parts[0] {
	case "r", "h", "all", "ids", "built":
		return parts[0] + " " + parts[1]
	case "n", "c":
		return parts[0] + " " + parts[1] + " " + parts[2]
	}
	return lostClass(key, value)
}

// unnoticed are the classes of which one bit can make something else that is as good, and
// why no sum notices: servers count with these numbers.
var unnoticed = map[string]string{
	"n Work Views":          "another digit of a counter",
	"c Work Likes":          "another digit of a derived count",
	"c Piece count":         "another digit of a part of a total",
	"c Piece ByTags.Values": "another digit of the number of a value",
	"per":                   "another digit of what was counted in a period",
	"seq":                   "another digit of a number that shortens a search",
	"qh":                    "another digit of a number that shortens a search",
	"t counter":             "another digit of the last stamp",
	"e counter":             "another digit of the last stamp",
	"rebuild":               "another digit of a number of rebuilds",
	"rebuilt":               "another digit of a number of rebuilds",
	"rank counter record":   "another digit of a score",
}

// unmended are the classes of which Rebuild cannot make an item again, since nothing else
// says what it held.
var unmended = map[string]bool{
	"n Work Views":      true, // Set does
	"r Like":            true, // Delete does
	"r Offer":           true,
	"r Piece":           true,
	"r Ticket":          true,
	"r Work":            true,
	"rank alone record": true, // until Set or Remove of the member
	"e #a":              true, // until others have taken its place, or Clear
	"e #p":              true,
	"e segment":         true,
}

// lessFrom are the classes of which something may be missing, with no error, and from which
// stage on. docs/stores.md tells them.
var lessFrom = map[string]int{
	"e counter":       1, // without a usable counter the ring has less room
	"q":               3, // the same, of a value
	"s first segment": 3, // Accept takes what is left for the whole set
	"s head":          3,
	"s segment":       3,
}

// reach is how many answers of a hundred may say so, for classes where these are more
// than usualReach.
var reach = map[string]int{}

const usualReach = 10

// severed is a store that a process loses for good, as if it had died then.
type severed struct {
	kv.Store
	cut  atomic.Bool
	when func(kv.Op) bool // severs it after the trip with such an op; may be nil
}

func (s *severed) Do(ctx context.Context, ops []kv.Op) error {
	if s.cut.Load() {
		return kv.Fail(ops, kv.ErrUnavailable)
	}
	if s.when != nil && slices.ContainsFunc(ops, s.when) {
		s.cut.Store(true)
	}
	return s.Store.Do(ctx, ops)
}

// wrecked returns the items of a store of w when its processes have died: one whose
// journal was repaired, one that was building indexes, and one that was in the middle of
// its changes.
func (w lossWorld) wrecked(t *testing.T) map[string][]byte {
	return w.furnishedUntil(t, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
		must(t, l.Likes.Rebuild(ctx))
		powers := w.powers(mem)
		if powers.Alone {
			return // There is one process.
		}
		s := &severed{Store: mem}
		dies := w.openOver(t, s, powers)
		must(t, dies.Likes.Create(ctx, &whole.Like{User: "u4", Work: "w2"}))
		s.cut.Store(true)
		time.Sleep(2 * time.Minute)

		builds := &severed{Store: mem, when: func(op kv.Op) bool { return op.Key == "build:Ticket" && op.Kind == kv.CompareAndSwap }}
		if err := w.openOver(t, builds, powers).Tickets.Rebuild(ctx); !errors.Is(err, kv.ErrUnavailable) {
			t.Error("a build that is cut short:", err)
		}
		s = &severed{Store: mem}
		dies = w.openOver(t, s, powers)
		must(t, dies.Likes.Create(ctx, &whole.Like{User: "u3", Work: "w3"}))
		_, err := dies.Works.Update(ctx, "w2", func(v *whole.Work) error { v.Author, v.Title = "cy", "of a wreck"; return nil })
		must(t, err)
		s.cut.Store(true)
	})
}

// damagedFirst are the classes that go test damages, and where.
var damagedFirst = map[string]string{
	"all Work":     "fresh",
	"built Work":   "running",
	"line":         "fresh",
	"n Work Views": "fresh",
	"procs":        "running",
	"r Work":       "running",
}

func TestMatrix_OfDamage_EveryAnswerIsRightOrSaysSo(t *testing.T) {
	var few, all []cell
	stores := map[string]map[string][]byte{}
	for i, w := range lossWorlds {
		if i > 0 && !proof.Long() {
			break
		}
		items := w.wrecked(t)
		stores[w.name] = items
		keys := map[string][]string{}
		for _, key := range slices.Sorted(maps.Keys(items)) {
			if class := damagedClass(key, items[key]); len(items[key]) > 0 {
				keys[class] = append(keys[class], key)
			}
		}
		for _, class := range slices.Sorted(maps.Keys(keys)) {
			keys := keys[class]
			if i == 0 {
				if column, ok := damagedFirst[class]; ok {
					key := keys[len(keys)/2]
					few = append(few, cell{w, class, key, column == "running", &flips(items[key])[1]})
				}
			}
			for at := range keysOfEach {
				key := keys[at*(len(keys)-1)/(keysOfEach-1)]
				f := flips(items[key])[at]
				all = append(all, cell{w, class, key, true, &f}, cell{w, class, key, false, &f})
			}
		}
	}
	found, unseen := matrix{}, matrix{}
	wants := wanted{}
	wrongs := map[string][]string{}
	for c := range proof.Part(t, few, all) {
		verdicts, wrong, says := c.judge(t, stores[c.world.name], wants)
		if _, ok := unnoticed[c.class]; ok && *c.flip == toDigit {
			unseen.add(c, verdicts)
			continue
		}
		for i := range verdicts {
			from, less := lessFrom[c.class]
			verdicts[i].limited = less && i >= from
		}
		found.add(c, verdicts)
		for i, v := range verdicts {
			if !v.limited {
				wrong = append(wrong, v.complaints(stages[i])...)
			}
			if limit := max(reach[c.class], usualReach); 100*v.says > limit*v.asked {
				wrong = append(wrong, fmt.Sprintf("%s: %d of %d answers say so, more than %d%%", stages[i], v.says, v.asked, limit))
			}
		}
		if says && !unmended[c.class] {
			wrong = append(wrong, "Rebuild does not mend it")
		}
		for _, wrong := range wrong {
			wrongs[c.class] = append(wrongs[c.class], fmt.Sprint(c, ": ", wrong))
		}
	}
	t.Logf("one bit of each class flipped\n%v", found)
	t.Logf("not noticeable: another digit\n%v", unseen)
	publishDamage(t, found, unseen)
	for class, wrong := range wrongs {
		t.Errorf("%s:\n%s", class, strings.Join(wrong, "\n"))
	}
}
