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
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

// The table of docs/releases.md says what two releases may do side by side. Each of its
// rows is a change, and each cell what a release answers: what the records say, or
// ErrNeedsRebuild until a Rebuild.

// A paper is the record of all these releases.
type paper struct {
	ID, Code, Text, Extra string
	Tags                  []string
	Score                 int64
}

type papers = kvmodel.Records[paper, string]

// fieldsCodec stores papers as JSON. A release that lacks a field keeps it.
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

// without returns the JSON object in data without a field.
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

// app is a release: what its papers are, and what it shows of them.
type app struct {
	lacks   string // a field that its papers do not have
	version int
	history int
	shows   []sight
}

// A sight makes an index, and returns what it shows and what it should.
type sight func(*papers) asked

type asked struct {
	show func(context.Context) ([]string, error)
	want func(*ledger) []string
	made func(context.Context, paper) error // is called for each paper; nil: nothing is to be done
}

// ledger is what papers there are.
type ledger struct {
	all   map[string]paper
	moved []string // their ids, by the last change of Text, the newest first
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

// A running is a release that runs.
type running struct {
	*testing.T
	app
	*ledger
	db     *kvmodel.DB
	papers *papers
	looks  []asked
	needs  bool // one of its answers was ErrNeedsRebuild
}

func (a app) run(t *testing.T, m *memkv.Store, tr *ledger) *running {
	t.Helper()
	db, err := kvmodel.Open(unpowered{m})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{T: t, app: a, ledger: tr, db: db}
	r.papers = kvmodel.NewRecords(db, kvmodel.Schema[paper, string]{
		Name: "Paper", Version: max(a.version, 1), History: a.history,
		ID:    func(p *paper) string { return p.ID },
		SetID: func(p *paper, id string) { p.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: fieldsCodec{a.lacks},
	})
	for _, s := range append(a.shows, records) {
		r.looks = append(r.looks, s(r.papers))
	}
	return r
}

// unpowered is a store without powers that outlives its users.
type unpowered struct{ kv.Store }

func (unpowered) Powers() kv.Powers { return kv.Powers{} }
func (unpowered) Close() error      { return nil }

func (r *running) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// writes makes n papers and changes as many, one every half second.
func (r *running) writes(n int) {
	r.Helper()
	ctx := r.Context()
	for range n {
		i := len(r.all)
		p := paper{ID: fmt.Sprintf("p%03d", i), Code: fmt.Sprint("c", i), Text: "new", Tags: []string{"red", "blue"}[i%2:], Score: int64(i * 37 % 101)}
		if r.lacks != "Extra" {
			p.Extra = fmt.Sprint("e", i)
		}
		stored := p
		r.must(r.papers.Create(ctx, &stored))
		for _, l := range r.looks {
			if l.made != nil {
				r.must(l.made(ctx, p))
			}
		}
		r.all[p.ID], r.moved = p, slices.Insert(r.moved, 0, p.ID)
		time.Sleep(500 * time.Millisecond)
		r.change(fmt.Sprintf("p%03d", i/2))
		time.Sleep(500 * time.Millisecond)
	}
}

func (r *running) change(id string) {
	r.Helper()
	p := r.all[id]
	p.Code, p.Text, p.Score = p.Code+"x", p.Text+"x", (p.Score+59)%101
	_, err := r.papers.Update(r.Context(), id, func(stored *paper) error {
		stored.Code, stored.Text, stored.Score = p.Code, p.Text, p.Score
		return nil
	})
	r.must(err)
	r.all[id] = p
	r.moved = slices.Insert(slices.DeleteFunc(r.moved, func(other string) bool { return other == id }), 0, id)
}

// look asks for all that the release shows. It fails if an answer is wrong.
func (r *running) look(when string) {
	r.Helper()
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

// verdict returns what the table says of the answers since the last verdict. If it is not
// that they were right, a Rebuild makes them so.
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

// A row is a change from one release to the next.
type row struct{ old, new app }

// judge returns the cells of the row.
func (c row) judge(t *testing.T) (cells []string) {
	m, tr := memkv.New(memkv.Options{}), &ledger{all: map[string]paper{}}
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

// What releases show.

func records(p *papers) asked {
	return asked{
		show: func(ctx context.Context) (ids []string, err error) {
			for rec, err := range p.All(ctx) {
				if err != nil {
					return nil, err
				}
				ids = append(ids, fmt.Sprint(rec.ID, rec.Code, rec.Text, rec.Score, rec.Tags))
			}
			slices.Sort(ids)
			return ids, nil
		},
		want: func(tr *ledger) (all []string) {
			for _, id := range slices.Sorted(maps.Keys(tr.all)) {
				p := tr.all[id]
				all = append(all, fmt.Sprint(p.ID, p.Code, p.Text, p.Score, p.Tags))
			}
			return all
		},
	}
}

// extra shows the field of that name.
func extra(p *papers) asked {
	return asked{
		show: func(ctx context.Context) (all []string, err error) {
			for rec, err := range p.All(ctx) {
				if err != nil {
					return nil, err
				}
				if rec.Extra != "" {
					all = append(all, rec.ID+rec.Extra)
				}
			}
			slices.Sort(all)
			return all, nil
		},
		want: func(tr *ledger) (all []string) {
			for _, id := range tr.ids(func(p paper) bool { return p.Extra != "" }) {
				all = append(all, id+tr.all[id].Extra)
			}
			return all
		},
	}
}

func idsOf(all []*paper) (ids []string) {
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

func unique(p *papers) asked {
	u := index.NewUnique(p, kvmodel.IndexSpec[paper, string]{
		Name: "ByCode", Def: "unique Code string", Fields: []string{"Code"}, Key: kvmodel.StringKey[string](),
		Values: func(p *paper) []string { return []string{p.Code} },
	})
	return asked{
		show: func(ctx context.Context) (ids []string, err error) {
			for i := range 130 {
				for _, more := range []string{"", "x", "xx", "xxx", "xxxx"} {
					rec, err := u.Find(ctx, fmt.Sprint("c", i, more))
					if err == nil {
						ids = append(ids, rec.ID)
					} else if !errors.Is(err, kvmodel.ErrNotFound) {
						return nil, err
					}
				}
			}
			slices.Sort(ids)
			return ids, nil
		},
		want: func(tr *ledger) []string { return slices.Sorted(maps.Keys(tr.all)) },
	}
}

// tagged shows the papers with the tag red; of a list with other conditions, those with a
// score below 50.
func tagged(def string, low bool, options ...index.ListOption) sight {
	fits := func(p *paper) bool { return !low || p.Score < 50 }
	return func(p *papers) asked {
		l := index.NewLists(p, kvmodel.IndexSpec[paper, string]{
			Name: "ByTags", Def: def, Fields: []string{"Tags"}, Key: kvmodel.StringKey[string](),
			Values: func(p *paper) []string { return p.Tags }, If: fits,
		}, options...)
		return asked{
			show: func(ctx context.Context) (ids []string, err error) {
				for rec, err := range l.Of("red").All(ctx) {
					if err != nil {
						return nil, err
					}
					ids = append(ids, rec.ID)
				}
				slices.Sort(ids)
				return ids, nil
			},
			want: func(tr *ledger) []string {
				return tr.ids(func(p paper) bool { return slices.Contains(p.Tags, "red") && fits(&p) })
			},
		}
	}
}

// newest shows a timeline: by the last change of Text, or by a value that never changes,
// and so in the order in which papers were made.
func newest(def string, spec timeline.Spec[paper]) sight {
	return func(p *papers) asked {
		spec := spec
		spec.Name, spec.Def = "Newest", def
		want := func(tr *ledger) []string { return tr.moved }
		if spec.Value == nil {
			spec.Value = func(p *paper) string { return timeline.Text(p.Text) }
		} else {
			want = func(tr *ledger) (ids []string) {
				ids = slices.Sorted(maps.Keys(tr.all))
				slices.Reverse(ids)
				return ids
			}
		}
		ring := timeline.NewRing(p, spec)
		const shown = 12
		return asked{
			show: func(ctx context.Context) ([]string, error) {
				l, err := ring.Page(ctx, "", shown)
				return idsOf(l.Items), err
			},
			want: func(tr *ledger) []string { return want(tr)[:min(shown, len(tr.all))] },
		}
	}
}

// news shows the events that a release with another keep shows as well.
func news(keep int, layout timeline.Layout) sight {
	return func(p *papers) asked {
		events := timeline.NewEvents(p.DB(), timeline.EventsSpec[paper, string]{
			Name: "News", Key: kvmodel.StringKey[string](), By: func(*paper) string { return "all" },
			Codec: fieldsCodec{}, Keep: keep, Layout: layout,
		})
		const shown = 10
		return asked{
			made: func(ctx context.Context, p paper) error { return events.Push(ctx, p) },
			show: func(ctx context.Context) (ids []string, err error) {
				all, err := events.Latest(ctx, "all", shown)
				for _, p := range all {
					ids = append(ids, p.ID)
				}
				return ids, err
			},
			want: func(tr *ledger) []string {
				ids := slices.Sorted(maps.Keys(tr.all))
				slices.Reverse(ids)
				return ids[:min(shown, len(ids))]
			},
		}
	}
}

// top shows a ranking by score.
func top(spec ranking.Spec[paper, int64]) sight {
	return func(p *papers) asked {
		spec.Name, spec.Def, spec.Of = "TopScore", "ranking Score int", ranking.Int[int64]()
		spec.Score = func(p *paper) int64 { return p.Score }
		board := ranking.NewBoard(p, spec)
		return asked{
			show: func(ctx context.Context) (scores []string, err error) {
				l, err := board.Page(ctx, "", 20)
				for _, p := range l.Items {
					scores = append(scores, fmt.Sprint(p.Score))
				}
				return scores, err
			},
			want: func(tr *ledger) (scores []string) {
				var all []int64
				for _, p := range tr.all {
					all = append(all, p.Score)
				}
				slices.Sort(all)
				if !spec.Low {
					slices.Reverse(all)
				}
				for _, n := range all[:min(20, len(all))] {
					scores = append(scores, fmt.Sprint(n))
				}
				return scores
			},
		}
	}
}

var (
	tags     = tagged("list Tags string each", false)
	ring     = newest("timeline Text", timeline.Spec[paper]{Shape: timeline.Shape{Size: 20, Segment: 4}})
	made     = newest("timeline ID", timeline.Spec[paper]{Value: byID})
	wasRing  = []timeline.Shape{{Size: 20, Segment: 4}}
	reshaped = func(size, segment int) sight {
		return newest("timeline Text", timeline.Spec[paper]{Shape: timeline.Shape{Size: size, Segment: segment}, Before: wasRing})
	}
	byID  = func(p *paper) string { return p.ID }
	board = top(ranking.Spec[paper, int64]{})
)

func shows(all ...sight) app { return app{shows: all} }

// rows are the changes of the table.
var rows = map[string]row{
	"nothing":                       {shows(unique, tags, ring, board), shows(unique, tags, ring, board)},
	"a field added":                 {app{lacks: "Extra", shows: []sight{tags}}, app{shows: []sight{tags, extra}}},
	"a field removed":               {app{shows: []sight{tags, extra}}, app{lacks: "Extra", shows: []sight{tags}}},
	"`version=` raised":             {app{version: 1, shows: []sight{tags}}, app{version: 2, shows: []sight{tags}}},
	"`history=` added":              {app{shows: []sight{tags}}, app{history: 5, shows: []sight{tags}}},
	"`unique` added":                {shows(tags), shows(tags, unique)},
	"`unique` removed":              {shows(tags, unique), shows(tags)},
	"`list` added":                  {shows(unique), shows(unique, tags)},
	"`list` removed":                {shows(unique, tags), shows(unique)},
	"`timeline` added":              {shows(tags), shows(tags, made)},
	"`timeline` removed":            {shows(tags, made), shows(tags)},
	"`ranking` added":               {shows(tags), shows(tags, board)},
	"`ranking` removed":             {shows(tags, board), shows(tags)},
	"a `list` becomes a `timeline`": {shows(unique, tags), shows(unique, made)},
	"a longer `ring=`":              {shows(ring), shows(reshaped(64, 4))},
	"a shorter `ring=`":             {shows(ring), shows(reshaped(16, 4))},
	"a larger `segment=`":           {shows(ring), shows(reshaped(20, 10))},
	"a smaller `segment=`":          {shows(ring), shows(reshaped(20, 1))},
	"`ring=` and `segment=`":        {shows(ring), shows(reshaped(100, 16))},
	"`hot=`":                        {shows(tags), shows(tagged("list Tags string each", false, index.Hot(8)))},
	"`order=low`":                   {shows(board), shows(top(ranking.Spec[paper, int64]{Low: true}))},
	"`ties=shared`":                 {shows(board), shows(top(ranking.Spec[paper, int64]{Shared: true}))},
	"events with another `keep=`": {
		shows(news(10, timeline.Appended)), shows(news(30, timeline.Appended)),
	},
	"`if=`":     {shows(tags), shows(tagged("list Tags string each if Low", true))},
	"`shards=`": {shows(made), shows(newest("timeline ID shards 3", timeline.Spec[paper]{Value: byID, Shards: 3}))},
}

func TestReleases_DoSideBySideWhatTheTableSays(t *testing.T) {
	table := tableOf(t, "../../docs/releases.md")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if d := cmp.Diff(table[name], rows[name].judge(t)); d != "" {
					t.Errorf("cells of %q: mismatch (-table +releases):\n%s", name, d)
				}
			})
		})
	}
	for name := range table {
		if _, ok := rows[name]; !ok {
			t.Errorf("the row %q is not tested", name)
		}
	}
}

// tableOf returns the cells of the table in a text, by the first of each row.
func tableOf(t *testing.T, file string) map[string][]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
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
		table[cells[1]] = cells[2:6]
	}
	return table
}
