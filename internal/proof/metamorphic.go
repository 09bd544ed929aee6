package proof

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Named struct {
	Name  string
	Store kv.Store

	// Loose: the engine has its own limits for Append and Increment. If one store is loose, none
	// comes near the limits of the contract, and no key has both Appends and Increments.
	Loose bool
}

// Metamorphic carries out the same n random ops on each of the stores, which must be empty, and
// fails unless all answer like the first. It prints the seed and the fewest ops it found for which
// the answers differ.
//
// The numbers of versions may differ, but not whether two are equal.
func Metamorphic(t testing.TB, seed uint64, n int, stores ...Named) {
	t.Helper()
	g := &generator{
		rng:    rand.New(rand.NewPCG(seed, 2)),
		unless: all(stores, func(s Named) bool { return kv.PowersOf(s.Store).Unless }),
		exact:  all(stores, func(s Named) bool { return !s.Loose }),
		last:   make(map[string][]int),
	}
	trips := g.trips(n)
	if compare(stores, trips) == "" {
		return
	}
	fewest := shrink(trips, func(fewer []symbolic) bool { return compare(stores, fewer) != "" })
	t.Errorf("seed %d: the stores differ (%d of %d ops are enough):\n%s", seed, opsIn(fewest), opsIn(trips), compare(stores, fewest))
}

func all(stores []Named, are func(Named) bool) bool {
	return !slices.ContainsFunc(stores, func(s Named) bool { return !are(s) })
}

// symbolic is one trip: ops on different keys, with versions not known yet.
type symbolic []symbolicOp

type symbolicOp struct {
	kv.Op
	get int // of a Get: its number, from 1
	of  int // of a compare: the number of the Get its version comes from; 0: invented
}

const madeUp = ^kv.Version(0)

var randomKeys = []string{"a", "b", "c", "d", "e"}

// lastCounter is the last key with Increments, if no key may have both Increments and Appends.
const lastCounter = "b"

// generator makes ops that often collide: few keys, few values, and mostly current versions.
type generator struct {
	rng    *rand.Rand
	unless bool
	exact  bool // uses values and numbers up to their limits
	gets   int
	last   map[string][]int // numbers of each key's Gets
}

func (g *generator) trips(n int) []symbolic {
	var trips []symbolic
	for made := 0; made < n; {
		size := 1
		if g.rng.IntN(4) == 0 {
			size += g.rng.IntN(len(randomKeys))
		}
		trip := make(symbolic, size)
		for i, at := range g.rng.Perm(len(randomKeys))[:size] {
			trip[i] = g.op(randomKeys[at])
		}
		trips = append(trips, trip)
		made += size
	}
	var end symbolic
	for _, key := range randomKeys {
		end = append(end, g.read(key))
	}
	return append(trips, end)
}

func (g *generator) op(key string) symbolicOp {
	switch g.rng.IntN(20) {
	case 0, 1, 2, 3, 4:
		return g.read(key)
	case 5, 6:
		return symbolicOp{Op: kv.OpSet(key, g.value()).For(g.ttl())}
	case 7, 8:
		return symbolicOp{Op: kv.OpAdd(key, g.value()).For(g.ttl())}
	case 9, 10, 11:
		return symbolicOp{Op: kv.OpSwap(key, 0, g.value()).For(g.ttl()), of: g.seen(key)}
	case 12:
		return symbolicOp{Op: kv.OpDelete(key)}
	case 13:
		return symbolicOp{Op: kv.OpDrop(key, 0), of: g.seen(key)}
	case 14, 15, 16:
		if !g.exact && key <= lastCounter {
			return g.read(key)
		}
		return symbolicOp{Op: g.append(key)}
	case 17, 18:
		if !g.exact && key > lastCounter {
			return g.read(key)
		}
		return symbolicOp{Op: kv.OpIncrement(key, g.delta())}
	default:
		return symbolicOp{Op: g.nonsense(key)}
	}
}

func (g *generator) read(key string) symbolicOp {
	g.gets++
	g.last[key] = append(g.last[key], g.gets)
	return symbolicOp{Op: kv.OpGet(key), get: g.gets}
}

func big(n int) []byte { return bytes.Repeat([]byte("x"), n) }

func (g *generator) seen(key string) int {
	gets := g.last[key]
	switch {
	case len(gets) == 0:
		return 0
	case g.rng.IntN(3) > 0:
		return gets[len(gets)-1]
	}
	return gets[g.rng.IntN(len(gets))]
}

func (g *generator) value() []byte {
	values := []string{"", "0", "7", "10", "10", "10", "100", "007", "x", "9 ", "a\r\nb", "END\r\n", "\x00\xff", "seal"}
	if g.exact && g.rng.IntN(15) == 0 {
		return [][]byte{big(kv.MaxValue - g.rng.IntN(6)), strconv.AppendInt(nil, kv.MaxNumber, 10)}[g.rng.IntN(2)]
	}
	return []byte(values[g.rng.IntN(len(values))])
}

func (g *generator) ttl() time.Duration {
	return []time.Duration{0, 0, time.Hour, 40 * 24 * time.Hour}[g.rng.IntN(4)]
}

func (g *generator) delta() int64 {
	deltas := []int64{1, 1, 2, 0, -1, -1, -3, -100, 1 << 40, -kv.MaxNumber}
	if g.exact {
		deltas = append(deltas, kv.MaxNumber)
	}
	return deltas[g.rng.IntN(len(deltas))]
}

func (g *generator) append(key string) kv.Op {
	op := kv.OpAppend(key, []byte([]string{"", "1", "+", "seal", "\r\n"}[g.rng.IntN(5)]))
	if g.unless && g.rng.IntN(3) == 0 {
		op.Unless = []byte("seal")
	}
	return op
}

func (g *generator) nonsense(key string) kv.Op {
	return []kv.Op{
		kv.OpSet(key, big(kv.MaxValue+1)), kv.OpAppend(key, big(kv.MaxValue+1)), kv.OpSet(key, nil).For(-1),
		kv.OpSwap(key, 0, nil), kv.OpIncrement(key, kv.MaxNumber+1), kv.OpGet(key + " "), {Kind: 77, Key: key},
	}[g.rng.IntN(7)]
}

type player struct {
	store    kv.Store
	versions map[int]kv.Version
	names    map[string]map[uint64]int // versions of each key, numbered in order of appearance
	failed   bool
}

// compare returns the story up to the first difference, or "". It plays again if a store has not
// answered, as a busy server may not.
func compare(stores []Named, trips []symbolic) (story string) {
	for range 5 {
		var failed bool
		if story, failed = playAll(stores, trips); !failed {
			break
		}
	}
	return story
}

func playAll(stores []Named, trips []symbolic) (_ string, failed bool) {
	players := make([]*player, len(stores))
	for i, s := range stores {
		players[i] = &player{store: s.Store, versions: make(map[int]kv.Version), names: make(map[string]map[uint64]int)}
		players[i].wipe()
	}
	var story strings.Builder
	for _, trip := range trips {
		answers := make([][]string, len(stores))
		for i, p := range players {
			answers[i] = p.play(trip)
		}
		failed = slices.ContainsFunc(players, func(p *player) bool { return p.failed })
		if tell(&story, stores, trip, answers) {
			return story.String(), failed
		}
	}
	return "", failed
}

func tell(story *strings.Builder, stores []Named, trip symbolic, answers [][]string) bool {
	differ := false
	for i, op := range trip {
		line := optest.Show(op.Op)
		if op.get > 0 {
			line += fmt.Sprintf(" #%d", op.get)
		}
		if op.Kind == kv.CompareAndSwap || op.Kind == kv.CompareAndDelete {
			line += fmt.Sprintf(" of #%d", op.of)
		}
		fmt.Fprintf(story, "%s -> %s\n", line, answers[0][i])
		for s := range stores {
			if answers[s][i] != answers[0][i] {
				fmt.Fprintf(story, "\t%s: %s\n\t%s: %s\n", stores[0].Name, answers[0][i], stores[s].Name, answers[s][i])
				differ = true
			}
		}
	}
	return differ
}

func (p *player) wipe() {
	var ops []kv.Op
	for _, key := range randomKeys {
		ops = append(ops, kv.OpDelete(key))
	}
	_ = p.store.Do(context.Background(), ops)
}

func (p *player) play(trip symbolic) []string {
	ops := make([]kv.Op, len(trip))
	for i, op := range trip {
		ops[i] = op.Op
		// An op refused for lack of a version keeps none.
		if op.of > 0 {
			ops[i].Version = madeUp
			if version, ok := p.versions[op.of]; ok {
				ops[i].Version = version
			}
		}
	}
	err := p.store.Do(context.Background(), ops)
	p.failed = p.failed || err != nil
	answers := make([]string, len(ops))
	for i := range ops {
		answers[i] = p.answer(trip[i], &ops[i])
		if err != nil {
			answers[i] += " and Do failed"
		}
	}
	return answers
}

func (p *player) answer(sym symbolicOp, op *kv.Op) string {
	r := op.Result
	if r.Err != nil {
		for _, s := range optest.Sentinels {
			if errors.Is(r.Err, s) {
				return s.Error()
			}
		}
		return r.Err.Error()
	}
	switch op.Kind {
	case kv.Get:
		p.versions[sym.get] = r.Version
		// Only the beginning of a value is shown, hence the sum.
		return fmt.Sprintf("%s, sum %08x, version no. %d",
			optest.ShowValue(r.Value, len(r.Value)), crc32.ChecksumIEEE(r.Value), p.nameOf(op.Key, r.Version))
	case kv.Increment:
		return fmt.Sprint(r.Number)
	}
	return "ok"
}

func (p *player) nameOf(key string, version kv.Version) int {
	names := p.names[key]
	if names == nil {
		names = make(map[uint64]int)
		p.names[key] = names
	}
	if _, ok := names[uint64(version)]; !ok {
		names[uint64(version)] = len(names) + 1
	}
	return names[uint64(version)]
}

// shrink removes trips, from halves to single ones, and then ops, while the rest still fails.
func shrink(trips []symbolic, fails func([]symbolic) bool) []symbolic {
	for size := len(trips) / 2; size > 0; size /= 2 {
		for at := 0; at+size <= len(trips); {
			fewer := slices.Concat(trips[:at], trips[at+size:])
			if fails(fewer) {
				trips = fewer
			} else {
				at += size
			}
		}
	}
	for at := range trips {
		for i := 0; i < len(trips[at]) && len(trips[at]) > 1; {
			fewer := slices.Clone(trips)
			fewer[at] = slices.Concat(trips[at][:i], trips[at][i+1:])
			if fails(fewer) {
				trips = fewer
			} else {
				i++
			}
		}
	}
	return trips
}

func opsIn(trips []symbolic) int {
	n := 0
	for _, trip := range trips {
		n += len(trip)
	}
	return n
}
