package boot

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Table is the common part of all items. The zero Table is none.
type Table struct {
	Edition uint64 // incremented by each Accept
	ID      uint64 // random
	Names   string // of the servers, sorted, separated by commas
}

func newTable(edition, id uint64, names []string) Table {
	return Table{edition, id, strings.Join(slices.Sorted(slices.Values(names)), ",")}
}

// Levels of an item. Ops are sent when all items have the last level. Each level shows that all
// have had the one before.
const (
	added     = iota // it does not count yet
	complete         // all servers have an item
	confirmed        // all servers can know that
)

// Item is stored on each server under a reserved key.
type Item struct {
	Name   string
	Number uint64 // identifies the server's memory; 0: its loss is not accepted yet
	Level  int
	Table  Table
	Next   Table // proposed by an Accept
}

func (it Item) encode() []byte {
	return fmt.Appendf(nil, "%s %x %d %s %s", it.Name, it.Number, it.Level, it.Table, it.Next)
}

func (t Table) String() string {
	names := t.Names
	if names == "" {
		names = "-"
	}
	return fmt.Sprintf("%d %x %s", t.Edition, t.ID, names)
}

const words = 9

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

// Seen is the result of a get of a server's item.
type Seen struct {
	Name    string
	Item    Item
	Version kv.Version // 0: absent
	Err     error      // no answer, or an unreadable one
}
