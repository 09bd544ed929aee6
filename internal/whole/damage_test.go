package whole_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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

// An empty value has no bit.
func (f flip) of(value []byte) []byte {
	value = slices.Clone(value)
	if len(value) > 0 {
		value[map[spot]int{atFirst: 0, inMiddle: len(value) / 2, atLast: len(value) - 1}[f.at]] ^= f.bit
	}
	return value
}

func (f flip) String() string { return fmt.Sprintf("bit %02x of the %s byte", f.bit, f.at) }

// toDigit changes the last digit of a number, toLetter makes its first one a letter.
var toDigit, toLetter = flip{atLast, 0x01}, flip{atFirst, 0x40}

func flips(value []byte) [tries]*flip {
	if _, err := kv.ParseNumber(value); err == nil {
		return [tries]*flip{&toDigit, &toLetter, &toLetter}
	}
	return [tries]*flip{{inMiddle, 0x10}, {atLast, 0x01}, {atFirst, 0x01}}
}

// damage flips one bit within the content of an item.
var damage = matrix{
	name:  "damage",
	items: kind.wrecked,
	class: func(key string, value []byte) string {
		if len(value) == 0 {
			return "empty"
		}
		return damagedClass(key, value)
	},
	spared: []string{"empty"},
	flips:  flips,
	says:   []error{kvmodel.ErrNeedsRebuild, kv.ErrLost, kvmodel.ErrCorrupt},
	reach:  10,
	limits: damageLimits,
	first:  []string{"ids segment Work fresh", "line fresh", "r Bid running", "built Work running", "out fresh", "procs fresh"},
}

func damagedClass(key string, value []byte) string {
	parts := strings.SplitN(key, ":", 4)
	switch parts[0] {
	case "r", "h", "built":
		return parts[0] + " " + parts[1]
	case "ids":
		model, segment, _ := strings.Cut(parts[1], "#")
		if segment != "" {
			return "ids segment " + model
		}
		return "ids head " + model
	case "n", "c":
		return parts[0] + " " + parts[1] + " " + parts[2]
	}
	return lostClass(key, value)
}

// damageLimits are for items that no other data contains (docs/memcached.md).
var damageLimits = map[string]limit{
	"n Work Views":        {digit: true, unmended: true}, // Set mends it
	"c Work Likes":        {digit: true},
	"per":                 {digit: true},
	"seq":                 {digit: true},
	"t counter":           {digit: true},
	"e counter":           {digit: true, from: afterWrites, until: never}, // the ring has less room
	"rebuild":             {digit: true},
	"rebuilt":             {digit: true},
	"rank counter record": {digit: true},
	"ids segment":         {unmended: true}, // Accept takes it for lost
	"h Work":              {unmended: true}, // until newer revisions replace it
	"line":                reordered(true),  // unmended until its process is dead and repaired
	"r":                   {unmended: true}, // Delete mends it
	"e #a":                {unmended: true}, // until others replace it, or Clear
	"e #p":                {unmended: true},
	"e segment":           {unmended: true},
}

var timelines = []string{"Newest", "Notes"}

// reordered is for an item on which all indexes of a model rest: a build puts a timeline in the
// order of creation.
func reordered(unmended bool) limit {
	return limit{from: rebuilt, until: never, only: timelines, wide: true, unmended: unmended}
}

func TestMatrix_OfDamage_EveryAnswerIsRightOrSaysSo(t *testing.T) { damage.goThrough(t) }
