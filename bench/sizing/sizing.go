// Package sizing measures the keys and bytes of a record and of each index, and writes the tables
// of docs/sizing.md. The models are those of package costs.
package sizing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/bench/costs"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const Records = 2000

// Size is the storage of a record besides its body.
type Size struct {
	Keys, Bytes float64 // of keys and of values
}

type row struct {
	clause string
	values string // describes the records
	fill   func() error
}

type world struct {
	*costs.Models
	ctx    context.Context
	mem    *memkv.Store
	db     *kvmodel.DB
	bodies int // bytes of records
}

// id is as long as generated ids.
func id(i int) string { return fmt.Sprintf("id%024d", i*7919%1_000_000) }

// owner returns the owner of record i; each owner has that many.
func owner(i, each int) string { return fmt.Sprintf("owner%06d", i/each) }

// fill creates records and adds up the sizes of their bodies.
func fill[T any](w *world, create func(context.Context, []*T) error, one func(i int) *T) func() error {
	return func() error {
		for from := 0; from < Records; from += 500 {
			var some []*T
			for i := from; i < from+500; i++ {
				some = append(some, one(i))
			}
			if err := create(w.ctx, some); err != nil {
				return err
			}
			for _, v := range some {
				body, err := msgpack.Marshal(v)
				if err != nil {
					return err
				}
				w.bodies += len(body)
			}
		}
		return nil
	}
}

var made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (w *world) rows() []row {
	return []row{
		{"a record", "an id of 26 characters", fill(w, w.Plains.CreateMulti, func(i int) *costs.Plain { return &costs.Plain{ID: id(i)} })},
		{"`id` on two fields", "an edge of two ids", fill(w, w.Votes.CreateMulti, func(i int) *costs.Vote { return &costs.Vote{User: id(i), Page: id(i / 20)} })},
		{"`id,seq`", "", fill(w, w.Tickets.CreateMulti, func(i int) *costs.Ticket { return &costs.Ticket{} })},
		{"`unique`", "texts of 14 characters", fill(w, w.Nameds.CreateMulti, func(i int) *costs.Named {
			return &costs.Named{ID: id(i), Slug: fmt.Sprintf("a-slug-%07d", i)}
		})},
		{"`list`, of 20", "20 records with each value", fill(w, w.Listeds.CreateMulti, func(i int) *costs.Listed { return &costs.Listed{ID: id(i), Owner: owner(i, 20)} })},
		{"`list`, of 2,000", "all have the same value", fill(w, w.Listeds.CreateMulti, func(i int) *costs.Listed { return &costs.Listed{ID: id(i), Owner: "all"} })},
		{"`list` on a slice", "three values, of 100", fill(w, w.Taggeds.CreateMulti, func(i int) *costs.Tagged {
			return &costs.Tagged{ID: id(i), Tags: []string{tag(i), tag(i + 33), tag(i + 66)}}
		})},
		{"`list,values` on a slice", "the same", fill(w, w.Valueds.CreateMulti, func(i int) *costs.Valued {
			return &costs.Valued{ID: id(i), Tags: []string{tag(i), tag(i + 33), tag(i + 66)}}
		})},
		{"`list` on both sides and `count=`", "likes, 20 for each photo", fill(w, w.Likes.CreateMulti, func(i int) *costs.Like { return &costs.Like{User: id(i % 50), Photo: owner(i, 20)} })},
		{"`model,count`", "", fill(w, w.AllSummed.CreateMulti, func(i int) *costs.Summed { return &costs.Summed{ID: id(i)} })},
		{"`timeline`", "the last 1,024 of 2,000", fill(w, w.Notes.CreateMulti, func(i int) *costs.Note { return &costs.Note{ID: id(i), Text: "x"} })},
		{"`timeline,by=`", "20 of each author", fill(w, w.Posts.CreateMulti, func(i int) *costs.Post { return &costs.Post{ID: id(i), Author: owner(i, 20), Made: made} })},
		{"`ranking`", "by an integer", fill(w, w.Priceds.CreateMulti, func(i int) *costs.Priced { return &costs.Priced{ID: id(i), Price: int64(i * 7919 % 100_000)} })},
		{"`ranking,by=`", "20 categories", fill(w, w.Goods.CreateMulti, func(i int) *costs.Good {
			return &costs.Good{ID: id(i), Category: owner(i, 100), Price: int64(i * 7919 % 100_000)}
		})},
		{"`counter`", "each was hit", w.hit(w.Seens.Views.Add, fill(w, w.Seens.CreateMulti, func(i int) *costs.Seen { return &costs.Seen{ID: id(i)} }))},
		{"`counter; ranking`", "each was hit", w.hit(w.Vieweds.Views.Add, fill(w, w.Vieweds.CreateMulti, func(i int) *costs.Viewed { return &costs.Viewed{ID: id(i)} }))},
		{"`model,history=20`", "one change, with a body of its own", fill(w, w.Kepts.CreateMulti, func(i int) *costs.Kept { return &costs.Kept{ID: id(i)} })},
		{"`events`", "30 of each owner, with two names", func() error {
			for i := range Records {
				v := costs.Visit{Owner: owner(i, 30), Guest: owner(i, 1)}
				if err := w.Visits.Push(w.ctx, v); err != nil {
					return err
				}
			}
			return nil
		}},
	}
}

func tag(i int) string { return fmt.Sprintf("tag%02d", i%100) }

// hit counts each record.
func (w *world) hit(add func(context.Context, string, int64) (int64, error), create func() error) func() error {
	return func() error {
		err := create()
		for i := 0; i < Records && err == nil; i++ {
			_, err = add(w.ctx, id(i), int64(1+i%500))
		}
		return err
	}
}

// processOnly are the classes of keys that belong to no record.
var processOnly = []string{"out:", "line:", "procs", "fixed:", "built:", "build:", "rebuild", "format:", "ids:", "seq:"}

func newWorld(ctx context.Context) (*world, error) {
	clock := new(tour.Clock)
	mem := memkv.New(memkv.Options{Now: clock.Now})
	db, err := kvmodel.Open(mem, kvmodel.Clock(clock.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
	return &world{ctx: ctx, Models: costs.New(db), mem: mem, db: db}, err
}

// measure returns the storage of a row, without bodies.
func (w *world) measure(r row) (Size, error) {
	if err := errors.Join(r.fill(), w.db.Flush(w.ctx)); err != nil {
		return Size{}, fmt.Errorf("%s: %w", r.clause, err)
	}
	var keys, bytes int
	for _, key := range w.mem.Keys() {
		if slices.ContainsFunc(processOnly, func(class string) bool { return strings.HasPrefix(key, class) }) {
			continue
		}
		item, err := kv.One(w.ctx, w.mem, kv.OpGet(key))
		if err != nil {
			return Size{}, err
		}
		keys++
		bytes += len(key) + len(item.Value)
	}
	return Size{float64(keys) / Records, float64(bytes-w.bodies) / Records}, nil
}

// alone are rows that are records themselves; all others come on top of a record.
var alone = map[string]bool{"a record": true, "`id` on two fields": true, "`id,seq`": true, "`events`": true, "`list` on both sides and `count=`": true}

var example = []string{
	"a record", "`unique`", "`list`, of 20", "`list,values` on a slice", "`timeline`", "`ranking`", "`counter; ranking`",
}

const (
	exampleBody    = 1000      // bytes
	exampleRecords = 1_000_000 // articles
)

// Tables returns the tables of docs/sizing.md, with the text between them.
func Tables(ctx context.Context) (string, error) {
	sizes := map[string]Size{}
	text := "| | of | keys | bytes |\n|---|---|--:|--:|\n"
	for i := 0; ; i++ {
		w, err := newWorld(ctx)
		if err != nil {
			return "", err
		}
		if i == len(w.rows()) {
			return text + "\n## A million articles\n\n" + worked(sizes), w.db.Close(ctx)
		}
		r := w.rows()[i]
		size, err := w.measure(r)
		if err := errors.Join(err, w.db.Close(ctx)); err != nil {
			return "", err
		}
		if r.clause != example[0] && !alone[r.clause] {
			size.Keys -= sizes[example[0]].Keys
			size.Bytes -= sizes[example[0]].Bytes
		}
		sizes[r.clause] = size
		text += fmt.Sprintf("| %s | %s | %.2f | %.0f |\n", r.clause, r.values, max(0, size.Keys), size.Bytes)
	}
}

func worked(sizes map[string]Size) string {
	text := fmt.Sprintf("Each has a body of %d bytes.\n\n| | million keys | MB |\n|---|--:|--:|\n| the bodies | - | %d |\n",
		exampleBody, exampleBody*exampleRecords/1_000_000)
	sum := Size{Bytes: exampleBody}
	for _, clause := range example {
		size := sizes[clause]
		sum.Keys += size.Keys
		sum.Bytes += size.Bytes
		text += fmt.Sprintf("| %s | %.2f | %.0f |\n", clause, max(0, size.Keys), size.Bytes)
	}
	return text + fmt.Sprintf("| **in all** | **%.1f** | **%.0f** |\n", sum.Keys, sum.Bytes)
}
