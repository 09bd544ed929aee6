package boot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Table is what the items of all servers of a store have in common, so that each
// is a witness of the others. The zero Table is none.
type Table struct {
	Edition uint64 // one more for each Accept
	ID      uint64 // random
	Names   string // of the servers, sorted, with commas between them
}

func newTable(edition, id uint64, names []string) Table {
	return Table{edition, id, strings.Join(slices.Sorted(slices.Values(names)), ",")}
}

// Levels of an item. No op is let through before all items are at the last, and
// each knows that all have been at the one before.
const (
	added     = iota // it counts for nothing yet
	complete         // all servers have an item
	confirmed        // all servers can know that
)

// Item is what the store keeps on each server under a key of its own.
type Item struct {
	Name   string // the server it was written for
	Number uint64 // stands for the server's memory; 0: what was lost is not accepted yet
	Level  int
	Table  Table
	Next   Table // the table that an Accept proposes
}

// encode returns the item as it is stored: a line of words.
func (it Item) encode() []byte {
	return fmt.Appendf(nil, "%s %x %d %s %s", it.Name, it.Number, it.Level, it.Table, it.Next)
}

// String returns the table as an item holds it: three words.
func (t Table) String() string {
	names := t.Names
	if names == "" {
		names = "-"
	}
	return fmt.Sprintf("%d %x %s", t.Edition, t.ID, names)
}

const words = 9 // of an item

func decode(value []byte) (it Item, err error) {
	w := strings.Split(string(value), " ")
	if len(w) != words {
		return it, fmt.Errorf("%d words, want %d", len(w), words)
	}
	number := func(i, base int) (n uint64) {
		n, bad := strconv.ParseUint(w[i], base, 64)
		if bad != nil && err == nil {
			err = fmt.Errorf("word %d: %w", i, bad)
		}
		return n
	}
	table := func(i int) Table {
		t := Table{number(i, 10), number(i+1, 16), w[i+2]}
		if t.Names == "-" {
			t.Names = ""
		}
		return t
	}
	it = Item{Name: w[0], Number: number(1, 16), Level: int(number(2, 10)), Table: table(3), Next: table(6)}
	return it, err
}

// Seen is what a get of a server's item has shown.
type Seen struct {
	Name    string
	Item    Item
	Version kv.Version // 0: there is none
	Err     error      // the server did not answer, or its item cannot be read
}
