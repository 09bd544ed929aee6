package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// openTickets opens a sequence as a process of its own.
func openTickets(s kvmodel.Store) (*kvmodel.DB, *index.Sequence[models.Page], error) {
	db, err := open(s)
	if err != nil {
		return nil, nil, err
	}
	return db, index.NewSequence(db, "tickets", models.PageCodec()), nil
}

// creators reports what it costs 64 processes to number things at the same time, and
// whether they leave a gap.
func creators(b *bench) error {
	const creators = 64
	return b.eachOf(single, func(on backend) error {
		for _, processes := range []int{1, 4} {
			numbers := b.size(12_800)
			if on.name == "boltkv" {
				numbers = min(numbers, 1_280) // Each takes a synced commit.
			}
			each := max(numbers/creators, 1)
			if err := b.number(on, fmt.Sprint("p", processes), processes, creators, each); err != nil {
				return err
			}
		}
		return nil
	})
}

func (b *bench) number(on backend, tenant string, processes, creators, each int) error {
	own, err := kvmodel.Prefix(on.store, tenant)
	if err != nil {
		return err
	}
	s, adds := counting(own, func(op kv.Op) bool { return op.Kind == kv.Add && strings.HasPrefix(op.Key, "q:") })
	var sequences []*index.Sequence[models.Page]
	for range processes {
		db, q, err := openTickets(s)
		if err != nil {
			return err
		}
		defer db.Close(b.ctx)
		sequences = append(sequences, q)
	}
	numbers := creators * each
	given := make([]int64, numbers)
	err = together(creators, numbers, func(client, call int) (err error) {
		given[call], err = sequences[client%processes].Add(b.ctx, &models.Page{Title: strconv.Itoa(call)})
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(given)
	different := slices.Compact(given)
	gaps := numbers - count(slices.Values(different), func(n int64) bool { return 1 <= n && n <= int64(numbers) })
	last, err := sequences[0].Count(b.ctx)
	what := fmt.Sprintf("%s: %d numbers by %d creators, %d at a time in each of %d processes", on.name, numbers, creators, creators/processes, processes)
	b.report(what+": given twice", float64(numbers-len(different)), exactly(0))
	b.report(what+": gaps", float64(gaps), exactly(0))
	b.report(what+": the last of them", float64(last), exactly(float64(numbers)))
	b.report(what+": adds each", float64(adds.Load())/float64(numbers), atMost(float64(processes)).varying())
	return err
}

// lastNumbers reports how many gets it takes to find the last of a million
// numbers.
func lastNumbers(b *bench) error {
	const numbers = 1_000_000
	s := memkv.New(memkv.Options{})
	value := make([]byte, 8)
	for first := 1; first <= numbers; first += 1000 {
		ops := make([]kv.Op, 1000)
		for i := range ops {
			ops[i] = kv.OpSet(fmt.Sprint("q:tickets:", first+i), value)
		}
		if err := s.Do(b.ctx, ops); err != nil {
			return err
		}
	}
	// If all goes well, the hint is at most this far behind.
	for _, v := range []struct {
		name string
		hint int
		gets float64
	}{{"no hint", 0, 25}, {"a hint of 1", 1, 25}, {"a hint that is half as large", numbers / 2, 25}, {"a hint that is 16 less", numbers - 16, 25}, {"a hint that is right", numbers, 3}} {
		if err := b.forgetLast(s, v.hint); err != nil {
			return err
		}
		gets, err := b.getsOfLast(s, 1, numbers)
		if err != nil {
			return err
		}
		b.report(fmt.Sprintf("the last of %d, by %s: gets", numbers, v.name), gets, atMost(v.gets))
	}
	gets, err := b.getsOfLast(s, 2, numbers)
	b.report(fmt.Sprintf("the last of %d, by a process that knows it: gets", numbers), gets, atMost(3))
	return err
}

// forgetLast makes hint all that the store knows of the last number, or nothing
// if it is 0.
func (b *bench) forgetLast(s kvmodel.Store, hint int) error {
	op := kv.OpSet("qh:tickets", strconv.AppendInt(nil, int64(hint), 10))
	if hint == 0 {
		op = kv.OpDelete("qh:tickets")
	}
	_, err := kv.One(b.ctx, s, op)
	return unlessNotFound(err)
}

// getsOfLast returns how many gets a process needs when it asks for the last number
// for that many times.
func (b *bench) getsOfLast(s kvmodel.Store, times, want int) (float64, error) {
	db, q, err := openTickets(s)
	if err != nil {
		return 0, err
	}
	defer db.Close(b.ctx)
	var c kvmodel.Cost
	for range times {
		c, err = b.cost(func(ctx context.Context) error {
			last, err := q.Count(ctx)
			if err == nil && last != int64(want) {
				err = fmt.Errorf("the last number is %d, want %d", last, want)
			}
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	return float64(c.Ops), nil
}
