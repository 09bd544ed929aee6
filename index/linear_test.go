package index_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// A history is the calls of concurrent clients of several processes, with the answers. Some order
// of all calls must explain every answer. The lists have tiny segments, which are constantly
// folded, split and joined.

const (
	historyProcesses = 3
	historyClients   = 8
	historyOps       = 200
)

func eachServer(t *testing.T, f func(t *testing.T, s kv.Store)) {
	t.Helper()
	proof.AtOnce(t, backends(), func(t *testing.T, open func(*testing.T) kv.Store) { f(t, open(t)) })
}

// opened returns a function that closes the store it is given when the test ends.
func opened(t *testing.T) func(kv.Store, error) kv.Store {
	return func(s kv.Store, err error) kv.Store {
		must(t, err)
		t.Cleanup(func() { must(t, s.Close()) })
		return s
	}
}

func backends() map[string]func(*testing.T) kv.Store {
	all := map[string]func(*testing.T) kv.Store{
		"memkv": func(*testing.T) kv.Store { return memkv.New(memkv.Options{}) },
		"boltkv": func(t *testing.T) kv.Store {
			return opened(t)(boltkv.Open(filepath.Join(t.TempDir(), "lists.db"), boltkv.Options{}))
		},
		"memcachekv": func(t *testing.T) kv.Store {
			servers.Need(t, "memcached")
			p, err := servers.Memcached("-m", "1024")
			must(t, err)
			t.Cleanup(func() { p.Stop() })
			return opened(t)(memcachekv.OpenVolatile([]string{p.Addr}, memcachekv.Options{}))
		},
		"rediskv": func(t *testing.T) kv.Store {
			servers.Need(t, "redis-server")
			p, err := servers.Redis()
			must(t, err)
			t.Cleanup(func() { p.Stop() })
			return opened(t)(rediskv.Open(t.Context(), rediskv.Options{Addrs: []string{p.Addr}}))
		},
	}
	if proof.Long() { // a cluster takes seconds to start
		all["rediskv on a cluster"] = func(t *testing.T) kv.Store {
			servers.Need(t, "redis-server")
			c, err := servers.RedisCluster()
			must(t, err)
			t.Cleanup(c.Stop)
			return opened(t)(rediskv.Open(t.Context(), rediskv.Options{Addrs: c.Addrs()}))
		}
	}
	return all
}

// question is a call about a thing.
type question struct{ what, of string }

type answer struct {
	text    string
	unclear bool // it may have been done at any later time, or never
}

// ask is the next call of a client. It returns one question for each thing, with its answer.
type ask func(ctx context.Context, rng *rand.Rand) (map[question]answer, error)

func history(t testing.TB, seed uint64, clients []ask) []porcupine.Operation {
	t.Helper()
	var mu sync.Mutex
	var all []porcupine.Operation
	var asking sync.WaitGroup
	began := time.Now()
	for id, ask := range clients {
		rng := rand.New(rand.NewPCG(seed, uint64(id)))
		asking.Go(func() {
			for range historyOps / len(clients) {
				call := int64(time.Since(began))
				told, err := ask(context.Background(), rng)
				returned := int64(time.Since(began))
				if errors.Is(err, kv.ErrUnavailable) {
					continue
				}
				mu.Lock()
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				for q, a := range told {
					end := returned
					if a.unclear {
						end = math.MaxInt64
					}
					all = append(all, porcupine.Operation{ClientId: id, Input: q, Call: call, Output: a.text, Return: end})
				}
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	return all
}

// model returns a porcupine model of separate things. step returns the state of a thing after a
// question, and whether the answer is possible.
func model(init string, step func(state, what, told string) (string, bool)) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return init },
		Step: func(state, input, output any) (bool, any) {
			next, ok := step(state.(string), input.(question).what, output.(string))
			return ok, next
		},
		Partition: func(all []porcupine.Operation) [][]porcupine.Operation {
			parts := map[string][]porcupine.Operation{}
			for _, o := range all {
				of := o.Input.(question).of
				parts[of] = append(parts[of], o)
			}
			var list [][]porcupine.Operation
			for _, part := range parts {
				list = append(list, part)
			}
			return list
		},
	}
}

func explains(t testing.TB, m porcupine.Model, seed uint64, all []porcupine.Operation) {
	t.Helper()
	for _, part := range m.Partition(all) {
		if result := porcupine.CheckOperationsTimeout(m, part, time.Minute); result != porcupine.Ok {
			t.Errorf("seed %d: no order explains the answers about %s (%s):\n%s", seed, part[0].Input.(question).of, result, tell(part))
		}
	}
}

func tell(all []porcupine.Operation) string {
	slices.SortFunc(all, func(a, b porcupine.Operation) int { return int(a.Call - b.Call) })
	var lines []string
	for _, o := range all {
		lines = append(lines, fmt.Sprintf("%12v %12v  client %d  %s -> %v", time.Duration(o.Call), time.Duration(o.Return), o.ClientId, o.Input.(question).what, o.Output))
	}
	return strings.Join(lines, "\n")
}

// With tinyLimits a few members take several segments.
var tinyLimits = memberlog.Limits{Split: 110, Merge: 60, Slack: 30, Look: 60, Grace: 24 * time.Hour}

// eachHistory asserts that m explains histories of clients in several processes.
func eachHistory(t *testing.T, s kv.Store, m porcupine.Model, open func(db *kvmodel.DB) func(seed uint64) ask) {
	var processes []func(seed uint64) ask
	for range historyProcesses {
		processes = append(processes, open(closing(t, openQuiet(shared{s}))))
	}
	n, silent := 0, 0
	for seed := range proof.Rounds(t, 5, 1000) {
		n++
		var clients []ask
		for i := range historyClients {
			clients = append(clients, processes[i%historyProcesses](seed))
		}
		all := history(t, seed, clients)
		if len(all) < historyOps/2 {
			silent++ // on a busy machine a server may not answer for a while
		}
		if !kv.PowersOf(s).Unless {
			all = withoutGaps(all)
		}
		explains(t, m, seed, all)
	}
	if silent > 1+n/10 {
		t.Errorf("in %d of %d histories most calls were not answered", silent, n)
	}
	if !t.Failed() {
		t.Logf("%d histories explained", n-silent)
	}
}

// withoutGaps leaves out answers that missed a record in motion. A store that cannot refuse an
// append after a seal may enter a record during the commit, so until the reply the record may be in
// neither list.
func withoutGaps(all []porcupine.Operation) []porcupine.Operation {
	return slices.DeleteFunc(slices.Clone(all), func(o porcupine.Operation) bool {
		missed, is := strings.CutPrefix(o.Input.(question).what, "in ")
		return is && o.Output == "false" && slices.ContainsFunc(all, func(p porcupine.Operation) bool {
			q := question{"move " + missed, o.Input.(question).of}
			return p.Input == q && p.Call < o.Return && o.Call < p.Return
		})
	})
}

func TestLinear_NoOrderExplainsAListThatForgets(t *testing.T) {
	var n atomic.Int64
	s := answering(server{memkv.New(memkv.Options{})}, func(op *kv.Op) bool { // drops every tenth append
		return op.Kind == kv.Append && ofList(op) && n.Add(1)%10 == 0
	})
	a, b := newTinyBooks(closing(t, openQuiet(shared{s}))), newTinyBooks(closing(t, openQuiet(shared{s})))
	for seed := range uint64(20) {
		all := history(t, seed, []ask{a.askTags(seed), b.askTags(seed)})
		for _, part := range tagged.Partition(all) {
			if porcupine.CheckOperationsTimeout(tagged, part, time.Minute) == porcupine.Illegal {
				return
			}
		}
	}
	t.Error("20 histories of lists that forget were explained")
}

func unsure(err error) bool {
	return errors.Is(err, kv.ErrUnclear) || errors.Is(err, kv.ErrConflict)
}

func orUnclear(err error) error {
	if unsure(err) {
		return nil
	}
	return err
}

// tagged explains the answers about the lists of one record.
var tagged = model("", func(state, what, told string) (string, bool) {
	verb, tag, _ := strings.Cut(what, " ")
	switch {
	case verb == "in":
		return state, told == fmt.Sprint(state == tag)
	case verb == "move":
		return tag, true
	case told == "not found":
		return state, state == ""
	}
	return "", state != ""
})

func newTinyBooks(db *kvmodel.DB) *books {
	b := newBooks(db)
	*b.ByTags.Limits(), *b.ByAuthor.Limits() = tinyLimits, tinyLimits
	return b
}

func TestLong_MovingRecordsBetweenListsIsLinear(t *testing.T) {
	eachServer(t, func(t *testing.T, s kv.Store) {
		eachHistory(t, s, tagged, func(db *kvmodel.DB) func(uint64) ask { return newTinyBooks(db).askTags })
	})
}

func (b *books) askTags(seed uint64) ask {
	return func(ctx context.Context, rng *rand.Rand) (map[question]answer, error) {
		n := rng.IntN(4)
		id, tag := fmt.Sprintf("%d-%d", seed, n), fmt.Sprintf("%d-%s", seed, sweepTags[rng.IntN(2)])
		switch rng.IntN(5) {
		case 0, 1:
			_, err := b.Upsert(ctx, id, func(b *book) error {
				b.Tags = []string{tag}
				b.N++
				return nil
			})
			if errors.Is(err, kv.ErrConflict) {
				return nil, nil // it gave up before any change
			}
			return map[question]answer{{"move " + tag, id}: {"", unsure(err)}}, orUnclear(err)
		case 2:
			err := b.Delete(ctx, id)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				return map[question]answer{{"delete", id}: {"not found", false}}, nil
			case errors.Is(err, kv.ErrConflict):
				return nil, nil
			}
			return map[question]answer{{"delete", id}: {"done", unsure(err)}}, orUnclear(err)
		}
		told := map[question]answer{}
		for i := range 4 {
			told[question{"in " + tag, fmt.Sprintf("%d-%d", seed, i)}] = answer{"false", false}
		}
		p, err := b.ByTags.Of(tag).Page(ctx, "", 100)
		for _, v := range p.Items {
			told[question{"in " + tag, v.ID}] = answer{"true", false}
		}
		return told, err
	}
}

func TestLong_NumberingIsLinear(t *testing.T) {
	m := model("0", func(state, what, told string) (string, bool) {
		last, _ := strconv.Atoi(state)
		if what == "add" {
			last++
		}
		return strconv.Itoa(last), told == strconv.Itoa(last)
	})
	eachServer(t, func(t *testing.T, s kv.Store) {
		eachHistory(t, s, m, func(db *kvmodel.DB) func(uint64) ask {
			rows := map[uint64]*index.Sequence[ticket]{}
			return func(seed uint64) ask {
				if rows[seed] == nil {
					rows[seed] = newRow(db, fmt.Sprint("Ticket", seed))
				}
				return askRow(rows[seed])
			}
		})
	})
}

func newRow(db *kvmodel.DB, name string) *index.Sequence[ticket] {
	return index.SequenceOf(kvmodel.NewRecords(db, kvmodel.Schema[ticket, int64]{
		Name: name, Version: 1, Key: kvmodel.IntKey[int64](), Codec: asJSON[ticket]{}, Sequential: true,
		ID: func(v *ticket) int64 { return v.ID }, SetID: func(v *ticket, id int64) { v.ID = id },
	}))
}

func askRow(row *index.Sequence[ticket]) ask {
	return func(ctx context.Context, rng *rand.Rand) (map[question]answer, error) {
		what, f := "count", row.Count
		if rng.IntN(2) == 0 {
			what, f = "add", func(ctx context.Context) (int64, error) { return row.Add(ctx, new(ticket)) }
		}
		n, err := f(ctx)
		return map[question]answer{{what, "the numbers"}: {strconv.FormatInt(n, 10), false}}, err
	}
}
