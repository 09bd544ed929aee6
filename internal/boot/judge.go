package boot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type verdict struct {
	table Table // the valid one; zero: the store has not started
	moved []string
	lost  []string // why each server has lost its memory, or ""
}

// known is the table by which the process knows the store, if any. names is nil if the URL does not
// name all servers.
func judge(names []string, seen []Seen, known Table) verdict {
	v := verdict{table: newest(seen), lost: make([]string, len(seen))}
	if v.table == (Table{}) {
		// This process is the only remaining witness.
		v.table = known
	}
	if v.table == (Table{}) {
		return v
	}
	v.moved = moves(names, v.table)
	used := slices.ContainsFunc(seen, func(s Seen) bool { return s.Version != 0 && s.Item.Level == confirmed })
	for i, s := range seen {
		switch {
		case s.Err != nil:
		case known.Edition >= v.table.Edition && v.table != known:
			v.lost[i] = "another store has begun there: db recover accepts it if it is empty, and a restart of this process does in any case"
		default:
			v.lost[i] = v.why(s, used, len(seen) > 1)
		}
	}
	return v
}

func newest(seen []Seen) (t Table) {
	for _, s := range seen {
		if s.Version != 0 && s.Item.Level >= complete && s.Item.Table.Edition > t.Edition {
			t = s.Item.Table
		}
	}
	return t
}

func (v *verdict) why(s Seen, used, several bool) string {
	it := s.Item
	switch {
	case s.Version == 0:
		return "it was restarted or flushed, or it evicts items"
	case several && it.Name != s.Name:
		return "what it holds belongs to " + it.Name
	case it.Next == v.table:
		return "" // an Accept is partly put through
	case it.Number == 0:
		return "it has come back with old data, or an Accept was cut short"
	case it.Table != v.table:
		return "what it holds is older than the store, or belongs to another"
	case used && it.Level == added:
		return "it was restarted or flushed"
	}
	return ""
}

// moves describes how names differ from the servers of t. A single server may be renamed: no key
// moves.
func moves(names []string, t Table) (all []string) {
	had := strings.Split(t.Names, ",")
	if len(had) == 1 && len(names) < 2 {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(had, name) {
			all = append(all, name+" was added")
		}
	}
	for _, name := range had {
		if !slices.Contains(names, name) {
			all = append(all, name+" was removed")
		}
	}
	return all
}

func (v *verdict) lossless() bool {
	return len(v.moved) == 0 && !slices.ContainsFunc(v.lost, func(why string) bool { return why != "" })
}

func (v *verdict) settled(seen []Seen) bool {
	return v.table != (Table{}) && v.lossless() && !slices.ContainsFunc(seen, func(s Seen) bool {
		return s.Err == nil && (s.Item.Level != confirmed || s.Item.Table != v.table)
	})
}

type outcome uint8

const (
	again outcome = iota // look once more
	good                 // ops may be sent to the servers that answered
	lossy
	writes // something must be written first
)

// step decides what to do after a pass that has shown seen, and the one before it last. Only a
// state that two consecutive passes show existed at one moment.
func step(names []string, last, seen []Seen, known Table, number func() uint64) (v verdict, o outcome, ops []kv.Op, err error) {
	v = judge(names, seen, known)
	switch {
	case v.settled(seen):
		return v, good, nil, nil
	case !same(last, seen):
		return v, again, nil, nil
	case !v.lossless():
		return v, lossy, nil, nil
	}
	ops, err = v.next(names, seen, number)
	return v, writes, ops, err
}

func same(a, b []Seen) bool {
	return slices.EqualFunc(a, b, func(a, b Seen) bool {
		return a.Version == b.Version && a.Item == b.Item && (a.Err == nil) == (b.Err == nil)
	})
}

var errFirst = errors.New("the first start of a store needs all its servers")

// next returns the writes that advance the lossless state seen by one step. The first must be sent
// before the others.
func (v *verdict) next(names []string, seen []Seen, number func() uint64) ([]kv.Op, error) {
	if half := v.putThrough(seen, number); len(half) > 0 {
		return half, nil
	}
	for _, s := range seen {
		if s.Err != nil {
			return nil, fmt.Errorf("%w: %w", errFirst, s.Err)
		}
	}
	if v.table == (Table{}) {
		if first := begin(names, seen, number); len(first) > 0 {
			return first, nil
		}
	}
	low := confirmed
	for _, s := range seen {
		low = min(low, s.Item.Level)
	}
	var ops []kv.Op
	for _, s := range seen {
		if it := s.Item; it.Level == low {
			it.Level = low + 1
			ops = append(ops, s.write(it))
		}
	}
	return ops, nil
}

func begin(names []string, seen []Seen, number func() uint64) (ops []kv.Op) {
	t := Table{}
	for _, s := range seen {
		if s.Version != 0 && t.Edition == 0 && len(moves(names, s.Item.Table)) == 0 {
			t = s.Item.Table
		}
	}
	if t.Edition == 0 {
		t = newTable(1, number(), names)
	}
	level := added
	if len(seen) == 1 {
		// It has no witness, and another process that adds it uses another number.
		level = confirmed
	}
	for _, s := range seen {
		if s.Version == 0 || s.Item.Table != t {
			ops = append(ops, s.write(Item{Name: s.Name, Number: number(), Level: level, Table: t}))
		}
	}
	return ops
}

func (v *verdict) putThrough(seen []Seen, number func() uint64) (ops []kv.Op) {
	for _, s := range seen {
		if it := s.Item; s.Version != 0 && it.Next == v.table && it.Next.Edition > 0 {
			if it.Number == 0 {
				it.Number = number()
			}
			it.Level, it.Table, it.Next = confirmed, v.table, Table{}
			ops = append(ops, s.write(it))
		}
	}
	return ops
}

// In propose, a server that has lost its memory gets no number until the new table is valid.
func (v *verdict) propose(seen []Seen, next Table) (ops []kv.Op) {
	for i, s := range seen {
		it := s.Item
		if s.Version == 0 || v.lost[i] != "" {
			it = Item{Name: s.Name, Level: confirmed, Table: v.table}
		}
		it.Next = next
		ops = append(ops, s.write(it))
	}
	return ops
}

func (s Seen) write(it Item) kv.Op { return kv.OpReplace(s.Name, s.Version, it.encode()) }

// Table is the common part of all items.
type Table struct {
	Edition uint64
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

type Item struct {
	Name   string
	Number uint64 // identifies the server's memory; 0: its loss is not accepted yet
	Level  int
	Table  Table
	Next   Table
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

type Seen struct {
	Name    string
	Item    Item
	Version kv.Version // 0: absent
	Err     error
}

// Accept implements kv.Losses. If the store was not used yet, it looks first.
func (m *Memory) Accept(ctx context.Context) (servers []string, err error) {
	err = m.inTurn(ctx, func() error {
		if servers = m.lostNames(); len(servers) == 0 {
			return nil
		}
		for range maxPasses {
			moved, done, err := m.accept(ctx)
			if len(moved) > 0 {
				servers = moved
			}
			if done || err != nil {
				return err
			}
		}
		servers = nil
		return kv.Unavailable(errBusy)
	})
	return servers, err
}

func (m *Memory) inTurn(ctx context.Context, f func() error) error {
	if m.table() == (Table{}) {
		if err := m.Look(ctx); err != nil {
			return err
		}
	}
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	return f()
}

// Renew implements kv.Losses. No server knows the edition of the former store, so the new one is
// named by the time. If a clock has gone back, processes that know a later edition continue to
// return ErrLost.
func (m *Memory) Renew(ctx context.Context) error {
	return m.inTurn(ctx, func() error {
		if len(m.lostNames()) > 0 {
			return kv.Join(m.Lost()...)
		}
		was := m.table()
		edition := max(was.Edition+1, uint64(time.Now().Unix()))
		for range maxPasses {
			seen, err := m.still(ctx)
			if err != nil {
				return err
			}
			if seen == nil {
				continue
			}
			v := judge(m.named(), seen, Table{})
			switch {
			case !v.lossless():
				return kv.Unavailable(errBusy)
			case v.table.Edition > was.Edition:
				return m.learn(ctx)
			}
			if err := m.replace(ctx, v, seen, edition); err != nil {
				return err
			}
		}
		return kv.Unavailable(errBusy)
	})
}

func (m *Memory) lostNames() (names []string) {
	for _, s := range m.servers {
		if s.state.Load().lost != nil {
			names = append(names, s.Name)
		}
	}
	return names
}

func (m *Memory) accept(ctx context.Context) (moved []string, done bool, err error) {
	seen, err := m.still(ctx)
	if seen == nil || err != nil {
		return nil, false, err
	}
	v := judge(m.named(), seen, Table{})
	if v.table == (Table{}) {
		v = judge(m.named(), seen, m.table())
	}
	if v.lossless() {
		// Others have accepted it, or have begun a store there.
		err := m.learn(ctx)
		return nil, err == nil, err
	}
	if err := stale(v, seen); err != nil {
		return nil, false, err
	}
	return v.moved, false, m.replace(ctx, v, seen, v.table.Edition+1)
}

func (m *Memory) learn(ctx context.Context) error {
	m.forget()
	return m.pass(ctx, Table{})
}

func (m *Memory) replace(ctx context.Context, v verdict, seen []Seen, edition uint64) error {
	next := newTable(edition, m.number(), m.named())
	if err := m.put(ctx, v.propose(seen, next)); err != nil {
		return err
	}
	return m.putThrough(ctx, next)
}

func (m *Memory) putThrough(ctx context.Context, next Table) error {
	ops := confirmation(m.get(ctx), next, m.number)
	if len(ops) == 0 {
		return nil
	}
	return m.put(ctx, ops)
}

func confirmation(seen []Seen, next Table, number func() uint64) []kv.Op {
	for _, s := range seen {
		if s.Version == 0 || s.Item.Next != next {
			return nil
		}
	}
	v := verdict{table: next}
	return v.putThrough(seen, number)
}

// still returns two equal passes in a row, or nil.
func (m *Memory) still(ctx context.Context) ([]Seen, error) {
	last, seen := m.get(ctx), m.get(ctx)
	for _, s := range seen {
		if s.Err != nil {
			return nil, s.Err
		}
	}
	if !same(last, seen) {
		return nil, nil
	}
	return seen, nil
}

// stale returns an error if an added server still holds its data from before it was removed.
func stale(v verdict, seen []Seen) error {
	for _, s := range seen {
		was := slices.Contains(strings.Split(v.table.Names, ","), s.Name)
		if !was && len(v.moved) > 0 && s.Version != 0 && s.Item.Number != 0 {
			return fmt.Errorf("%s: %w: it was added again with the data from before its removal: flush it first", s.Name, kv.ErrLost)
		}
	}
	return nil
}

func (m *Memory) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Store(new(Table))
}
