package whole_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

// The table of docs/releases.md: each row is a change, and each cell an answer of a release, right
// or ErrNeedsRebuild until a Rebuild.

type paper struct {
	ID, Code, Text, Extra string
	Tags                  []string
	Score                 int64
	Until                 time.Time `json:",omitzero"`
	Version               int64     `json:",omitzero"`
	Views                 int64     `json:"-"`

	stays bool // the last change was by a release without ends
}

type papers = kvmodel.Records[paper, string]

type fieldsCodec struct{ lacks string }

func (c fieldsCodec) Append(dst []byte, p *paper) ([]byte, error) {
	b, err := json.Marshal(p)
	if err == nil && c.lacks != "" {
		b, err = without(b, c.lacks)
	}
	return append(dst, b...), err
}

func (c fieldsCodec) Unmarshal(data []byte, p *paper) (unknown bool, err error) {
	known, err := without(data, c.lacks)
	if err == nil {
		err = json.Unmarshal(known, p)
	}
	return len(known) < len(data), err
}

func (c fieldsCodec) Merge(prev, next []byte) ([]byte, error) {
	old, all := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	err := errors.Join(json.Unmarshal(prev, &old), json.Unmarshal(next, &all))
	if field, ok := old[c.lacks]; ok {
		all[c.lacks] = field
	}
	b, failed := json.Marshal(all)
	return b, errors.Join(err, failed)
}

func without(data []byte, field string) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	if _, ok := all[field]; !ok {
		return data, nil
	}
	delete(all, field)
	return json.Marshal(all)
}

type app struct {
	lacks    string
	version  int
	history  int
	counts   bool
	hourly   bool
	expires  bool
	versions bool // papers count their changes
	shows    []sight
}

// A sight makes an index, and asks for its answers.
type sight func(*papers) asked

type asked struct {
	show func(context.Context) ([]string, error)
	want func(*ledger) []string
	made func(context.Context, paper) error // called for each paper, or nil
}

type ledger struct {
	all    map[string]paper
	made   int
	moved  []string            // ids by the last change of Text, newest first
	hours  map[string]int64    // hits by releases that count by the hour
	bodies map[string][]string // the codes of a paper, newest first; "" for one that was not kept
}

func newLedger() *ledger {
	return &ledger{all: map[string]paper{}, hours: map[string]int64{}, bodies: map[string][]string{}}
}

func (tr *ledger) ids(keep func(paper) bool) (ids []string) {
	for id, p := range tr.all {
		if keep(p) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

type running struct {
	*testing.T
	app
	*ledger
	db     *kvmodel.DB
	papers *papers
	views  *index.Counter[string]
	looks  []asked
	needs  bool // it returned ErrNeedsRebuild at least once
}

func (a app) run(t *testing.T, m *memkv.Store, tr *ledger) *running {
	t.Helper()
	db, err := kvmodel.Open(still{m, kv.Powers{}})
	must(t, err)
	r := &running{T: t, app: a, ledger: tr, db: db}
	schema := kvmodel.Schema[paper, string]{
		Name: "Paper", Version: max(a.version, 1), History: a.history,
		ID:    func(p *paper) string { return p.ID },
		SetID: func(p *paper, id string) { p.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: fieldsCodec{a.lacks},
	}
	if a.counts {
		schema.Counters = []kvmodel.CounterOf[paper]{{Name: "Views", Set: func(p *paper, n int64) { p.Views = n }}}
	}
	if a.expires {
		schema.Expires = func(p *paper) *time.Time { return &p.Until }
	}
	if a.versions {
		schema.Revision = func(p *paper) *int64 { return &p.Version }
	}
	r.papers = kvmodel.NewRecords(db, schema)
	if a.counts {
		r.views = index.NewCounter(r.papers, "Views")
	}
	for _, s := range append(a.shows, records) {
		r.looks = append(r.looks, s(r.papers))
	}
	return r
}

func (r *running) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *running) writes(n int) {
	r.Helper()
	ctx := r.Context()
	for range n {
		i := r.made
		r.made++
		p := paper{ID: fmt.Sprintf("p%03d", i), Code: fmt.Sprint("c", i), Text: "new", Tags: []string{"red", "blue"}[i%2:], Score: int64(i * 37 % 101)}
		if r.lacks != "Extra" {
			p.Extra = fmt.Sprint("e", i)
		}
		if r.expires && i%3 == 0 {
			p.Until = time.Now().Add(90*time.Second + 250*time.Millisecond).UTC()
		}
		stored := p
		r.must(r.papers.Create(ctx, &stored))
		for _, l := range r.looks {
			if l.made != nil {
				r.must(l.made(ctx, p))
			}
		}
		r.all[p.ID], r.moved = p, slices.Insert(r.moved, 0, p.ID)
		r.keepBody(p)
		time.Sleep(500 * time.Millisecond)
		r.change(fmt.Sprintf("p%03d", i/2))
		if i%6 == 5 {
			r.delete(fmt.Sprintf("p%03d", i/4))
		}
		r.hit(fmt.Sprintf("p%03d", i*2/3))
		time.Sleep(500 * time.Millisecond)
	}
	time.Sleep(2 * time.Second)
}

func (r *running) hit(id string) {
	r.Helper()
	p, ok := r.find(id)
	if !ok || r.views == nil {
		return
	}
	_, err := r.views.Hit(r.Context(), id)
	r.must(err)
	p.Views++
	r.all[id] = p
	if r.hourly {
		r.hours[id]++
	}
}

func (p *paper) isPast() bool { return !p.Until.IsZero() && !time.Now().Before(p.Until) }

func (tr *ledger) find(id string) (paper, bool) {
	maps.DeleteFunc(tr.all, func(_ string, p paper) bool { return p.isPast() && !p.stays })
	p, ok := tr.all[id]
	return p, ok
}

// The history lacks the writes of a release without one, and the next body hides those before it.
func (r *running) keepBody(p paper) {
	kept := r.bodies[p.ID]
	if r.history == 0 {
		r.bodies[p.ID] = append([]string{""}, kept...)
		return
	}
	r.bodies[p.ID] = append([]string{p.Code}, kept...)
}

func (tr *ledger) past(id string) (bodies []string) {
	for _, body := range tr.bodies[id] {
		if body == "" && len(bodies) > 0 {
			break
		}
		if body != "" {
			bodies = append(bodies, body)
		}
	}
	return bodies
}

func (r *running) delete(id string) {
	r.Helper()
	if _, ok := r.find(id); !ok {
		return
	}
	r.must(r.papers.Delete(r.Context(), id))
	delete(r.all, id)
	r.moved = slices.DeleteFunc(r.moved, func(other string) bool { return other == id })
}

func (r *running) change(id string) {
	r.Helper()
	p, ok := r.find(id)
	if !ok {
		return
	}
	if r.expires && p.isPast() {
		return
	}
	p.stays = !r.expires
	p.Code, p.Text, p.Score = p.Code+"x", p.Text+"x", (p.Score+59)%101
	_, err := r.papers.Update(r.Context(), id, func(stored *paper) error {
		stored.Code, stored.Text, stored.Score = p.Code, p.Text, p.Score
		return nil
	})
	r.must(err)
	r.all[id] = p
	r.keepBody(p)
	r.moved = slices.Insert(slices.DeleteFunc(r.moved, func(other string) bool { return other == id }), 0, id)
}

func (r *running) look(when string) {
	r.Helper()
	r.find("")
	for i, l := range r.looks {
		got, err := l.show(r.Context())
		switch {
		case errors.Is(err, kvmodel.ErrNeedsRebuild):
			r.needs = true
		case err != nil:
			r.Errorf("%s: look %d: %v", when, i, err)
		default:
			if d := cmp.Diff(l.want(r.ledger), got); d != "" {
				r.Errorf("%s: look %d: mismatch (-want +got):\n%s", when, i, d)
			}
		}
	}
}

// verdict returns the cell for the answers since the last one. Unless all were right, a Rebuild
// makes them so.
func (r *running) verdict(rebuild bool) string {
	r.Helper()
	if !r.needs {
		return "right"
	}
	if rebuild {
		r.must(r.papers.Rebuild(r.Context()))
		r.needs = false
		r.look("after a rebuild")
		if r.needs {
			r.Error("ErrNeedsRebuild after a rebuild")
		}
	}
	r.needs = false
	return "`Rebuild`"
}

func (r *running) ends() {
	r.Helper()
	r.must(r.db.Close(r.Context()))
}

type row struct{ old, new app }

func (c row) judge(t *testing.T) (cells []string) {
	m, tr := memkv.New(memkv.Options{}), newLedger()
	old := c.old.run(t, m, tr)
	old.writes(20)
	next := c.new.run(t, m, tr)
	for range 4 {
		next.writes(8)
		old.look("side by side, the old one")
		next.look("side by side, the new one")
		old.writes(6)
		old.look("side by side, the old one, after its changes")
		next.look("side by side, the new one, after the old one's changes")
	}
	old.ends()
	cells = append(cells, old.verdict(false), next.verdict(true))
	next.writes(8)
	next.look("alone")
	if next.needs {
		t.Error("ErrNeedsRebuild once the old release has ended")
	}
	next.ends()
	for _, of := range []app{c.old, c.new} {
		r := of.run(t, m, tr)
		r.look("rolled back or forward, at first")
		r.writes(16)
		r.look("rolled back or forward, after some changes")
		cells = append(cells, r.verdict(true))
		r.ends()
	}
	return cells
}

var (
	tags     = tagged("list Tags string each", false)
	ring     = newest("timeline Text", timeline.Spec[paper]{Shape: timeline.Shape{Size: 20, Segment: 4}})
	made     = newest("timeline ID", timeline.Spec[paper]{Value: byID})
	reshaped = func(size, segment int) sight {
		return newest("timeline Text", timeline.Spec[paper]{Shape: timeline.Shape{Size: size, Segment: segment}})
	}
	byID  = func(p *paper) string { return p.ID }
	board = top(ranking.Spec[paper, int64]{})
)

func shows(all ...sight) app { return app{shows: all} }

func hits(all ...sight) app { return app{counts: true, shows: append(all, views)} }

func hitsHourly(keep int) app {
	a := hits(viewed(boardSpec{Per: ranking.Hour, Keep: keep}))
	a.hourly = true
	return a
}

var rows = map[string]row{
	"nothing":                       {shows(unique, tags, ring, board), shows(unique, tags, ring, board)},
	"a field added":                 {app{lacks: "Extra", shows: []sight{tags}}, app{shows: []sight{tags, extra}}},
	"a field removed":               {app{shows: []sight{tags, extra}}, app{lacks: "Extra", shows: []sight{tags}}},
	"`version=` raised":             {app{version: 1, shows: []sight{tags}}, app{version: 2, shows: []sight{tags}}},
	"`history=` added":              {app{shows: []sight{tags}}, app{history: 5, shows: []sight{tags, past}}},
	"`unique` added":                {shows(tags), shows(tags, unique)},
	"`unique` removed":              {shows(tags, unique), shows(tags)},
	"`for=` of a `unique`":          {shows(unique, tags), shows(held, tags)},
	"`list` added":                  {shows(unique), shows(unique, tags)},
	"`list` removed":                {shows(unique, tags), shows(unique)},
	"`timeline` added":              {shows(tags), shows(tags, made)},
	"`timeline` removed":            {shows(tags, made), shows(tags)},
	"`ranking` added":               {shows(tags), shows(tags, board)},
	"`ranking` removed":             {shows(tags, board), shows(tags)},
	"a `list` becomes a `timeline`": {shows(unique, tags), shows(unique, made)},
	"`ring=` below a power of two":  {shows(ring), shows(reshaped(32, 4))},
	"a longer `ring=`":              {shows(ring), shows(reshaped(64, 4))},
	"a shorter `ring=`":             {shows(ring), shows(reshaped(16, 4))},
	"a larger `segment=`":           {shows(ring), shows(reshaped(20, 10))},
	"a smaller `segment=`":          {shows(ring), shows(reshaped(20, 1))},
	"`ring=` and `segment=`":        {shows(ring), shows(reshaped(100, 16))},
	"`hot=`":                        {shows(tags), shows(tagged("list Tags string each", false, index.Hot(8)))},
	"`order=low`":                   {shows(board), shows(top(ranking.Spec[paper, int64]{Low: true}))},
	"`ties=shared`":                 {shows(board), shows(top(ranking.Spec[paper, int64]{Ties: ranking.Shared}))},
	"`ties=newest`":                 {shows(board), shows(tied(ranking.Newest))},
	"`ties=dense`":                  {shows(board), shows(tied(ranking.Dense))},
	"`ties=newest` with a counter":  {hits(viewed(boardSpec{})), hits(viewed(boardSpec{Ties: ranking.Newest}))},
	"events with another `keep=`": {
		shows(news(newsSpec{Keep: 10})), shows(news(newsSpec{Keep: 30})),
	},
	"events with another `keep=`, packed": {
		shows(news(newsSpec{Keep: 10, Layout: timeline.Packed})), shows(news(newsSpec{Keep: 30, Layout: timeline.Packed})),
	},
	"events with another `ttl=`, packed": {
		shows(news(newsSpec{TTL: time.Hour, Layout: timeline.Packed})), shows(news(newsSpec{TTL: 2 * time.Hour, Layout: timeline.Packed})),
	},
	"events with `once=` added": {
		shows(news(newsSpec{})), shows(news(newsSpec{Once: func(p *paper) string { return p.ID }})),
	},
	"events with `once=` removed": {
		shows(news(newsSpec{Once: func(p *paper) string { return p.ID }})), shows(news(newsSpec{})),
	},
	"`version`, the field, added":         {app{lacks: "Version", shows: []sight{tags}}, app{versions: true, shows: []sight{tags}}},
	"a model added":                       {shows(tags), shows(tags, shelves)},
	"a model removed":                     {shows(tags, shelves), shows(tags)},
	"an index renamed, with `was=`":       {shows(unique, tags), shows(uniqueOf("Number", ""), tags)},
	"a `list` of another field":           {shows(unique, tags), shows(unique, coded)},
	"`by=`":                               {shows(board), shows(topByTag)},
	"`scale=`":                            {shows(grades(1)), shows(grades(2))},
	"`history=` removed":                  {app{history: 5, shows: []sight{tags, past}}, app{shows: []sight{tags}}},
	"another `history=`":                  {app{history: 5, shows: []sight{tags, past}}, app{history: 20, shows: []sight{tags, past}}},
	"`expires` added":                     {app{lacks: "Until", shows: []sight{unique, tags, made}}, app{expires: true, shows: []sight{unique, tags, made}}},
	"`expires` removed":                   {app{expires: true, shows: []sight{unique, tags, made}}, app{lacks: "Until", shows: []sight{unique, tags, made}}},
	"a `counter` added":                   {app{shows: []sight{tags}}, app{counts: true, shows: []sight{tags, views}}},
	"a `counter` removed":                 {app{counts: true, shows: []sight{tags, views}}, app{shows: []sight{tags}}},
	"`batch=`":                            {hits(viewed(boardSpec{})), hits(viewed(boardSpec{Batch: ranking.Every}))},
	"a `ranking` of a counter added":      {hits(), hits(viewed(boardSpec{}))},
	"a `ranking` of a counter removed":    {hits(viewed(boardSpec{})), hits()},
	"`ranking,per=` added":                {hits(), hitsHourly(2)},
	"`ranking,per=` removed":              {hitsHourly(2), hits()},
	"`ranking,per=` with another `keep=`": {hitsHourly(2), hitsHourly(5)},
	"`count=` added":                      {shows(tags), shows(counted)},
	"`count=` removed":                    {shows(counted), shows(tags)},
	"`sum=` added":                        {shows(tags), shows(summed)},
	"`sum=` removed":                      {shows(summed), shows(tags)},
	"`if=`":                               {shows(tags), shows(tagged("list Tags string each if Low", true))},
	"`shards=`":                           {shows(made), shows(newest("timeline ID shards 3", timeline.Spec[paper]{Value: byID, Shards: 3}))},
}

var firstRows = []string{
	"a field removed", "`version=` raised", "`unique` added", "`list` removed", "`timeline` added", "`ranking` removed",
	"a `list` becomes a `timeline`", "a shorter `ring=`", "`ring=` below a power of two", "events with another `keep=`", "a model removed", "`expires` added",
	"a `counter` added", "`ranking,per=` with another `keep=`", "`count=` removed",
}

func TestMatrix_OfReleases_DoSideBySideWhatTheTableSays(t *testing.T) {
	t.Parallel()
	table := tableOf(t, "../../docs/releases.md")
	for name := range proof.Part(t, firstRows, slices.Sorted(maps.Keys(rows))) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				proof.NoDiff(t, cmp.Diff(table[name], rows[name].judge(t)), "cells of %q", name)
			})
		})
	}
	for name := range table {
		if _, ok := rows[name]; !ok {
			t.Errorf("the row %q is not tested", name)
		}
	}
}

func tableOf(t *testing.T, file string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	must(t, err)
	table, heads := map[string][]string{}, 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 7 {
			continue
		}
		if heads++; heads <= 2 {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		for change := range strings.SplitSeq(cells[1], "; ") {
			table[change] = cells[2:6]
		}
	}
	return table
}

// The limits that docs/releases.md names below its table, and when each ends.

func sideBySide(t *testing.T, older, newer app, test func(old, next *running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, tr := memkv.New(memkv.Options{}), newLedger()
		old, next := older.run(t, m, tr), newer.run(t, m, tr)
		next.writes(10)
		test(old, next)
		old.ends()
		next.ends()
	})
}

func wantShown(t *testing.T, when string, look asked, want []string) {
	t.Helper()
	got, err := look.show(t.Context())
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%s: %v, mismatch (-want +got):\n%s", when, err, d)
	}
}

func TestReleases_ACounterOutlivesWhatAReleaseWithoutItDeletes(t *testing.T) {
	sideBySide(t, app{}, hits(), func(old, next *running) {
		shown := func(id string, want int64) {
			t.Helper()
			p, err := next.papers.Get(next.Context(), id)
			next.must(err)
			proof.Equal(t, p.Views, want, "%s", id)
		}
		for _, id := range []string{"p003", "p005"} {
			for next.all[id].Views < 4 {
				next.hit(id)
			}
			old.delete(id)
		}
		next.must(next.papers.Create(next.Context(), &paper{ID: "p003"}))
		shown("p003", 0)
		old.must(old.papers.Create(old.Context(), &paper{ID: "p005"}))
		shown("p005", 4)
	})
}

func TestReleases_ABoardMissesTheHitsOfAReleaseWithoutIt(t *testing.T) {
	sideBySide(t, hits(), hits(viewed(boardSpec{})), func(old, next *running) {
		board := next.looks[0]
		next.must(next.papers.Rebuild(next.Context()))
		before := board.want(next.ledger)
		old.hit("p003")
		old.hit("p005")
		wantShown(t, "after the hits of the other", board, before)
		next.hit("p003")
		next.must(next.papers.Rebuild(next.Context()))
		wantShown(t, "after a rebuild", board, board.want(next.ledger))
	})
}

func TestReleases_ADerivedCountHasWhatWasCountedUntilARebuild(t *testing.T) {
	sideBySide(t, shows(tags), shows(counted), func(old, next *running) {
		number := func() string {
			n, err := next.db.Derived("Shelf", "Papers").Counts(next.Context(), next.db.Store(), []string{"red"})
			next.must(err)
			return fmt.Sprint(n[0])
		}
		old.writes(10)
		want := next.looks[0].want(next.ledger)
		if got, all := number(), want[len(want)-1]; got >= all {
			t.Errorf("%s of %s are counted beside a release that does not count", got, all)
		}
		next.must(next.papers.Rebuild(next.Context()))
		wantShown(t, "after a rebuild", next.looks[0], want)
	})
}

func TestReleases_PutDoesNotNoticeAChangeOfAReleaseWithoutVersions(t *testing.T) {
	sideBySide(t, app{lacks: "Version"}, app{versions: true}, func(old, next *running) {
		put := func(change func()) error {
			p, err := next.papers.Get(next.Context(), "p003")
			next.must(err)
			change()
			return next.papers.Put(next.Context(), p)
		}
		proof.Is(t, put(func() { next.change("p003") }), kvmodel.ErrConflict)
		proof.Is(t, put(func() { old.change("p003") }), nil)
	})
}

func TestReleases_WhatAReleaseWithoutEndsChangesLivesUntilOneWithThemChangesIt(t *testing.T) {
	sideBySide(t, app{lacks: "Until"}, app{expires: true}, func(old, next *running) {
		set := func(id string, until time.Time) error {
			_, err := next.papers.Update(next.Context(), id, func(p *paper) error {
				p.Text += "x"
				if !until.IsZero() {
					p.Until = until
				}
				return nil
			})
			return err
		}
		end := time.Now().Add(time.Minute)
		for _, id := range []string{"p003", "p005"} {
			next.must(set(id, end))
			old.change(id)
		}
		next.must(set("p005", time.Time{}))
		time.Sleep(2 * time.Minute)
		proof.Ends(t, kvmodel.ErrNotFound)(next.papers.Get(next.Context(), "p005"))
		if p, err := next.papers.Get(next.Context(), "p003"); err != nil || !p.Until.Equal(end) {
			t.Errorf("what the other has changed: %v, %v, want one with its old end", p, err)
		}
		proof.Is(t, set("p003", time.Time{}), kvmodel.ErrInvalid)
		next.must(set("p003", time.Now().Add(time.Hour)))
	})
}
