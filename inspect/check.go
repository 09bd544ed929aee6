package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Fault is an inconsistency found in the database.
type Fault struct {
	Kind  string `json:"kind"` // one of Kinds
	Model string `json:"model,omitempty"`
	Index string `json:"index,omitempty"`
	ID    string `json:"id,omitempty"`
	Key   string `json:"key,omitempty"` // the prefix of the keys concerned
	Text  string `json:"text"`          // a sentence

	place   string // in the index
	audited bool   // records do not show it
}

// Kinds are all kinds of faults.
var Kinds = []string{
	plug.MissingEntry, plug.StrayEntry, plug.WrongCount, plug.Orphan, plug.DamagedItem,
	plug.DamagedRecord, plug.Unlisted, plug.LostIDs, plug.NotBuilt,
}

// CheckOptions select the scope and the speed of a check.
type CheckOptions struct {
	Pace
	What  string      // MODEL or MODEL.INDEX; "": all
	Quick bool        // one record in a hundred, and no keys
	Found func(Fault) // called with each confirmed fault; may be nil
}

// Report is the result of a check.
type Report struct {
	Faults  []Fault          `json:"-"`       // the first 10,000
	Counts  map[string]int64 `json:"counts"`  // all faults, by kind
	Records int64            `json:"records"` // checked records
	Keys    int64            `json:"keys"`
	Newest  time.Time        `json:"-"`       // about the creation of the newest record; zero: no records
	Unasked []string         `json:"unasked"` // checks that could not be made, and why
	Foreign int64            `json:"foreign"` // keys that belong to none of this program's models
	Took    time.Duration    `json:"-"`
}

// Well reports whether the check was complete and found no faults.
func (r *Report) Well() bool { return len(r.Counts) == 0 && len(r.Unasked) == 0 }

const faultsKept = 10_000

// Check compares all records with all indexes: the records listed in the ids of their model with
// their index entries, and the keys of the store with the records. It writes nothing. Others may
// write meanwhile: apparent faults are checked again at the end.
func (in *Inspector) Check(ctx context.Context, o CheckOptions) (Report, error) {
	c := &checking{in: in, o: o, began: time.Now(), listed: make(set), places: make(map[string]string), lacking: make(lacking)}
	c.report.Counts, c.report.Unasked = make(map[string]int64), []string{}
	err := c.run(ctx)
	c.report.Took = time.Since(c.began)
	return c.report, err
}

type checking struct {
	in     *Inspector
	o      CheckOptions
	began  time.Time
	report Report

	listed set               // ids listed by the models
	places map[string]string // place by base, for hashed bases
	doubts []Fault           // apparent faults, to check again

	lacking lacking
}

// lacking counts the missing entries of indexes that are not built, which are no faults.
type lacking map[string]int64

func (l lacking) lacks(model string, w plug.Wrong) bool {
	_, unbuilt := l[model+"."+w.Index]
	return unbuilt && w.Kind == plug.MissingEntry
}

func (c *checking) run(ctx context.Context) error {
	models, index, err := c.chosen()
	if err != nil {
		return err
	}
	if n := c.in.db.Stats().Lost; n > 0 {
		return fmt.Errorf("%w: %d servers; recover first", kv.ErrLost, n)
	}
	from, resumed := "", ""
	if c.o.From != "" {
		resumed, from, _ = strings.Cut(c.o.From, " ")
		if !slices.ContainsFunc(models, func(m model) bool { return m.Name() == resumed }) {
			return fmt.Errorf("%w: no model is called %q", kvmodel.ErrBadCursor, resumed)
		}
	}
	for _, m := range models {
		if m.Name() < resumed {
			continue
		}
		start := ""
		if m.Name() == resumed {
			start = from
		}
		if err := c.model(ctx, m, index, start); err != nil {
			return err
		}
	}
	if err := c.allKeys(ctx, index); err != nil {
		return err
	}
	return c.again(ctx)
}

func (c *checking) chosen() (models []model, index string, err error) {
	if c.o.What == "" {
		return c.in.models, "", nil
	}
	name, index, _ := strings.Cut(c.o.What, ".")
	if index != "" {
		if _, _, err := c.in.window(c.o.What); err != nil {
			return nil, "", err
		}
	}
	m, err := c.in.model(name)
	return []model{m}, index, err
}

func (c *checking) unasked(format string, args ...any) {
	c.report.Unasked = append(c.report.Unasked, fmt.Sprintf(format, args...))
}

// Beyond the memory limit, a fault is not checked again.
func (c *checking) doubt(f Fault) {
	if len(c.doubts) < 10*faultsKept {
		c.doubts = append(c.doubts, f)
		return
	}
	c.sure(f)
}

func (c *checking) sure(f Fault) {
	c.report.Counts[f.Kind]++
	if len(c.report.Faults) < faultsKept {
		c.report.Faults = append(c.report.Faults, f)
	}
	if c.o.Found != nil {
		c.o.Found(f)
	}
}

func (c *checking) model(ctx context.Context, m model, index, from string) error {
	total, err := c.built(ctx, m, index)
	if err != nil {
		return err
	}
	b := &batch{checking: c, model: m, index: index, pace: c.o.Pace.begin("check", m.Name(), total)}
	if err := c.state(m, m.IDs(ctx, from, func(ids []string, to string) error { return b.add(ctx, ids, to) })); err != nil {
		return err
	}
	return b.check(ctx)
}

// A batch shares the index data that is read and decoded for its records.
type batch struct {
	*checking
	model model
	index string
	pace  *pacer

	ids    []string
	met    int    // ids read for this batch
	to     string // the position reached
	chunks int    // chunks of ids, in total
}

const batchSize = 5000

func (b *batch) add(ctx context.Context, ids []string, to string) error {
	fresh := ids
	if !b.o.Quick {
		fresh = b.listed.fresh(b.model, ids)
	}
	for some := range slices.Chunk(fresh, at) {
		if b.chunks++; !b.o.Quick || b.chunks%at == 1 {
			b.ids = append(b.ids, some...)
		}
	}
	b.met, b.to = b.met+len(ids), to
	if len(b.ids) < b.o.most(batchSize) {
		return nil
	}
	return b.check(ctx)
}

func (b *batch) check(ctx context.Context) error {
	if b.met == 0 {
		return nil
	}
	if err := b.records(ctx, b.model, b.index, b.ids); err != nil {
		return err
	}
	b.report.Records += int64(len(b.ids))
	b.pace.step.Found = int64(len(b.doubts))
	met := b.met
	b.ids, b.met = b.ids[:0], 0
	return b.pace.did(ctx, met, b.model.Name()+" "+b.to)
}

func (c *checking) built(ctx context.Context, m model, index string) (total int64, err error) {
	st, err := m.State(ctx)
	if err != nil {
		return 0, c.state(m, err)
	}
	if st.Built != nil {
		c.doubt(Fault{Kind: plug.DamagedItem, Model: m.Name(), Text: st.Built.Error()})
	}
	for _, i := range st.Indexes {
		if i.State != "built" && i.State != "unknown" && (index == "" || index == i.Name) {
			if c.lacking != nil {
				c.lacking[m.Name()+"."+i.Name] = 0
			}
			c.doubt(Fault{Kind: plug.NotBuilt, Model: m.Name(), Index: i.Name, Text: strings.TrimSuffix(fmt.Sprintf("%s.%s is %s: %s", m.Name(), i.Name, i.State, i.Far), ": ")})
		}
	}
	return st.IDs, nil
}

func (c *checking) ids(ctx context.Context, m model) error {
	if _, err := c.built(ctx, m, ""); err != nil {
		return err
	}
	return c.state(m, m.IDs(ctx, "", func([]string, string) error { return ctx.Err() }))
}

func (c *checking) state(m model, err error) error {
	if err == nil || ctxEnded(err) || !errors.Is(err, kvmodel.ErrCorrupt) && !errors.Is(err, kv.ErrLost) {
		return err
	}
	kind := plug.LostIDs
	if !m.IsListed() && errors.Is(err, kvmodel.ErrCorrupt) {
		kind = plug.DamagedRecord // Its id cannot be read.
	}
	c.doubt(Fault{Kind: kind, Model: m.Name(), Text: err.Error()})
	return nil
}

func ctxEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

func (c *checking) records(ctx context.Context, m model, index string, ids []string) error {
	sights, err := m.Check(ctx, c.in.store, ids)
	if err != nil {
		return err
	}
	for i := range sights {
		if s := &sights[i]; s.Live() && madeAt(s).After(c.report.Newest) {
			c.report.Newest = madeAt(s)
		}
		for _, w := range sights[i].Wrong {
			switch {
			case index != "" && w.Index != "" && w.Index != index:
			case c.lacking.lacks(m.Name(), w):
				c.lacking[m.Name()+"."+w.Index]++
			default:
				c.doubt(c.faultOf(m, &sights[i], w))
			}
		}
		for k, w := range m.windows {
			for _, place := range sights[i].Places[k] {
				c.remember(w, place)
			}
		}
	}
	return nil
}

// The first rev of a record is its creation time in milliseconds; changes add little to it.
func madeAt(s *plug.Sight) time.Time { return time.UnixMilli(int64(s.Envelope.Rev)) }

func (c *checking) faultOf(m model, s *plug.Sight, w plug.Wrong) Fault {
	f := Fault{Kind: w.Kind, Model: m.Name(), Index: w.Index, ID: w.ID, Text: w.Text}
	for k, window := range m.windows {
		if s != nil && window.Name() == w.Index && len(s.Places[k]) > 0 {
			f.place = s.Places[k][0]
			if bases := window.Bases(f.place); len(bases) > 0 {
				f.Key = bases[0]
			}
		}
	}
	return f
}

func (c *checking) remember(w plug.Window, place string) {
	for _, base := range w.Bases(place) {
		if kv.IsHashed(base) {
			c.places[base] = place
		}
	}
}

func (c *checking) allKeys(ctx context.Context, index string) error {
	switch {
	case c.o.Quick:
		c.unasked("stray entries, counts and unlisted records: a quick check reads no keys")
		return nil
	case c.in.keys == nil:
		c.unasked("stray entries, counts and unlisted records: %v", ErrNoKeys)
		return nil
	}
	if c.o.From != "" && slices.ContainsFunc(c.in.models, model.IsListed) {
		c.unasked("unlisted records: a resumed check does not know all ids")
	}
	pace := c.o.Pace.begin("check", "keys", 0)
	err := c.in.eachKey(ctx, "", func(keys []string) error {
		if err := c.someKeys(ctx, index, keys); err != nil {
			return err
		}
		c.report.Keys += int64(len(keys))
		pace.step.Found = int64(len(c.doubts))
		return pace.did(ctx, len(keys), "")
	})
	if err != nil && kv.Failed(err) && !ctxEnded(err) {
		c.unasked("the store refused to list its keys: %v", err)
		return nil
	}
	return err
}

func (c *checking) someKeys(ctx context.Context, index string, keys []string) error {
	var audits []*audit
	var records []string
	for _, key := range keys {
		o := c.in.owner(key)
		place := ""
		if !o.known {
			o, place = c.hashed(key, o)
		}
		switch {
		case !o.known:
			c.report.Foreign++
		case c.o.What != "" && (o.model == nil || o.model.Name() != strings.SplitN(c.o.What, ".", 2)[0] || index != "" && o.part != index):
		case o.class == "r" && o.model.IsListed() && c.o.From == "":
			records = append(records, key)
		case o.first:
			audits = append(audits, &audit{owner: o, place: place})
		}
	}
	if err := c.unlisted(ctx, records); err != nil {
		return err
	}
	return c.audits(ctx, audits)
}

func (c *checking) hashed(key string, o owner) (owner, string) {
	base, ok := strings.CutSuffix(key, ":meta")
	place, known := c.places[base]
	if !ok || !known {
		return o, ""
	}
	for i := range c.in.models {
		m := &c.in.models[i]
		for _, w := range m.windows {
			if slices.Contains(w.Bases(place), base) {
				return owner{class: o.class, model: m, name: m.Name(), part: w.Name(), known: true, window: w, base: base, first: true}, place
			}
		}
	}
	return o, ""
}

func (c *checking) unlisted(ctx context.Context, keys []string) error {
	var some []string
	for _, key := range keys {
		o := c.in.owner(key)
		if !c.listed.has(idIn(*o.model, o.rest)) {
			some = append(some, key)
		}
	}
	results, err := kv.GetAll(ctx, c.in.store, some...)
	if err != nil {
		return err
	}
	for i, key := range some {
		if results[i].Err != nil {
			continue
		}
		o := c.in.owner(key)
		s := o.model.Decode("", results[i].Value)
		if s.Err != nil {
			c.doubt(Fault{Kind: plug.DamagedRecord, Model: o.model.Name(), ID: o.rest, Key: key, Text: s.Err.Error()})
			continue
		}
		if s.Live() && !c.listed.has(idIn(*o.model, s.ID)) {
			text := fmt.Sprintf("%s %s exists, but is missing from the ids of its model", o.model.Name(), s.ID)
			c.doubt(Fault{Kind: plug.Unlisted, Model: o.model.Name(), ID: s.ID, Key: key, Text: text})
		}
	}
	return nil
}

type audit struct {
	owner
	place string
	wrong []plug.Wrong
}

func (c *checking) audits(ctx context.Context, all []*audit) error {
	errs := kv.Each(ctx, c.in.store, all, func(s kv.Store, _ int, a *audit) (err error) {
		if a.wrong, err = a.window.Audit(ctx, s, a.base, a.place); err != nil {
			return fmt.Errorf("%s: %w", a.base, err)
		}
		orphans, err := c.in.orphans(ctx, s, a)
		a.wrong = append(a.wrong, orphans...)
		return err
	})
	for i, a := range all {
		if errs[i] != nil {
			return errs[i]
		}
		for _, w := range a.wrong {
			c.doubt(a.fault(w))
		}
	}
	return nil
}

func (a *audit) fault(w plug.Wrong) Fault {
	f := Fault{Kind: w.Kind, Index: a.window.Name(), ID: w.ID, Key: a.base, Text: w.Text, place: a.place, audited: true}
	if a.model != nil {
		f.Model = a.model.Name()
	}
	return f
}

func (in *Inspector) orphans(ctx context.Context, s kv.Store, a *audit) ([]plug.Wrong, error) {
	if a.model == nil || a.window.Kind() != "list" {
		return nil, nil
	}
	list := a.model.Name() + "." + a.window.Name()
	for _, parent := range in.models {
		if !slices.Contains(parent.Children(), list) {
			continue
		}
		_, id, _ := strings.Cut(strings.TrimPrefix(a.base, "l:"+kv.JoinText(a.model.Name())+":"), ":")
		got, err := kv.GetAll(ctx, s, parent.Key(id))
		if err != nil {
			return nil, err
		}
		if got[0].Err == nil {
			if sight := parent.Decode(id, got[0].Value); sight.Live() || sight.Err != nil {
				return nil, nil
			}
		}
		rows, err := a.window.Page(ctx, s, id, 1)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		text := fmt.Sprintf("%s: %s %s is deleted, but its child %s still exists, and perhaps others", a.base, parent.Name(), id, rows[0].ID)
		return []plug.Wrong{{Kind: plug.Orphan, ID: id, Text: text}}, nil
	}
	return nil, nil
}

// recheckDelay is the delay before an apparent fault is checked again, shorter in some tests.
var recheckDelay = time.Second

func (c *checking) again(ctx context.Context) error {
	if len(c.doubts) == 0 {
		return nil
	}
	wait := recheckDelay
	if slices.ContainsFunc(c.doubts, func(f Fault) bool { return f.Kind == plug.PendingEntry }) {
		wait = times.Settled
	}
	if !kv.Sleep(ctx, wait) {
		return kv.TooLate(ctx)
	}
	still, err := c.in.still(ctx, c.doubts)
	for _, f := range still {
		if n := c.lacking[f.Model+"."+f.Index]; n > 0 && f.Kind == plug.NotBuilt {
			f.Text += fmt.Sprintf("; %s missing there", console.Some(n, "entry is", "entries are"))
		}
		c.sure(f)
	}
	return err
}

type questions struct {
	state bool     // of the model as a whole
	ids   []string // of records
	keys  []string // of records that may be unlisted
}

func (in *Inspector) still(ctx context.Context, faults []Fault) ([]Fault, error) {
	c := &checking{in: in, listed: make(set), places: make(map[string]string), lacking: make(lacking)}
	byModel := make(map[string]*questions)
	audited := make(map[string]Fault)
	for _, f := range faults {
		if byModel[f.Model] == nil {
			byModel[f.Model] = new(questions)
		}
		q := byModel[f.Model]
		switch {
		case f.audited:
			audited[f.Model+"."+f.Index+" "+f.Key] = f
		case f.Kind == plug.Unlisted:
			q.keys = append(q.keys, f.Key)
		case f.Kind == plug.NotBuilt || f.Kind == plug.LostIDs || f.Kind == plug.DamagedItem && f.Index == "" || f.Kind == plug.DamagedRecord && f.ID == "":
			q.state = true
			if f.Kind == plug.NotBuilt {
				c.lacking[f.Model+"."+f.Index] = 0
			}
		default:
			q.ids = append(q.ids, f.ID)
		}
	}
	for name, q := range byModel {
		if err := c.askAgain(ctx, name, q); err != nil {
			return nil, err
		}
	}
	err := c.auditAgain(ctx, audited)
	return lasting(c.doubts, faults), err
}

// Unlisted records may be listed by now.
func (c *checking) askAgain(ctx context.Context, name string, q *questions) error {
	if !q.state && len(q.ids) == 0 && len(q.keys) == 0 {
		return nil
	}
	m, err := c.in.model(name)
	if err == nil && q.state {
		err = c.ids(ctx, m)
	}
	slices.Sort(q.ids)
	for some := range slices.Chunk(slices.Compact(q.ids), at) {
		if err == nil {
			err = c.records(ctx, m, "", some)
		}
	}
	if err == nil && len(q.keys) > 0 {
		err = c.in.list(ctx, m, c.listed)
	}
	if err == nil {
		err = c.unlisted(ctx, q.keys)
	}
	return err
}

func (c *checking) auditAgain(ctx context.Context, faults map[string]Fault) error {
	var all []*audit
	for _, base := range slices.Sorted(maps.Keys(faults)) {
		a, err := c.in.auditOf(faults[base])
		if err != nil {
			return err
		}
		all = append(all, a)
	}
	return inTrips(all, func(some []*audit) error { return c.audits(ctx, some) })
}

// lasting returns all, each once. A pending entry counts only if it was pending before: its change
// can no longer be under way.
func lasting(all, before []Fault) []Fault {
	was := make(map[string]bool)
	for _, f := range before {
		was[f.Text] = true
	}
	var lasting []Fault
	for _, f := range all {
		if f.Kind == plug.PendingEntry {
			if !was[f.Text] {
				continue
			}
			f.Kind = plug.StrayEntry
		}
		lasting = append(lasting, f)
	}
	slices.SortFunc(lasting, func(a, b Fault) int { return strings.Compare(a.order(), b.order()) })
	return slices.Compact(lasting)
}

func (f *Fault) order() string {
	return strings.Join([]string{f.Kind, f.Model, f.Index, f.ID, f.Key, f.Text}, " ")
}

func (in *Inspector) auditOf(f Fault) (*audit, error) {
	name := strings.TrimPrefix(f.Model+"."+f.Index, ".")
	m, w, err := in.window(name)
	if err != nil {
		return nil, err
	}
	return &audit{owner: owner{model: m, window: w, base: f.Key}, place: f.place}, nil
}
