package ranking

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

type core struct {
	*shelf
	host    plug.Host
	reports *reporter
	losses  sync.Map // by boardKey, the trees in which a rebuild of the data class found a lost node
	ahead   ahead.Memory

	name, def string
	title     string // with the model
	base      string
	code      keytree.Code
	many      bool                    // one board for each value
	tooMany   func(plug.Record) error // nil: a single board

	// where returns the values whose boards the record belongs on, and its place there, without by.
	where  func(plug.Record) (by []string, p place)
	ranks  keytree.Ranks
	form   string // suffix of tree names
	order  string // of words; "" except on boards of texts
	text   func(plug.Record) string
	scored bool // the score is the record's own
	per    Period
	keep   int
	limit  int

	own bool // members have records of their own, which hold the score

	// catchUp moves members to their current counts; nil without a counter.
	catchUp func(ctx context.Context, by string, at time.Time, ids []string) error
}

func newCore[T, S any](spec Spec[T, S], by func(*T) []string) *core {
	c := &core{
		shelf: &shelf{local: keytree.NewLocal(keptRouters), trees: make(map[string]tree)}, name: spec.Name, def: spec.Def, code: spec.Of.code,
		ranks: spec.Ties.ranks(), form: spec.Ties.form(spec.Low), order: spec.Of.order, per: spec.Per, keep: cmp.Or(spec.Keep, keptByDefault),
		own: spec.Counter != nil, scored: spec.Score != nil, limit: leafLimit,
	}
	if spec.Ties.byTime() {
		c.code = c.code.WithTies()
	}
	if spec.Of.isText() {
		c.form, c.def = plug.WordsForm, c.def+" "+c.order
		c.text = plug.Untyped(func(rec *T) string { return fmt.Sprint(spec.Score(rec)) })
	}
	c.where = func(v plug.Record) (_ []string, p place) {
		rec := v.(*T)
		if spec.If != nil && !spec.If(rec) {
			return nil, p
		}
		if spec.Score != nil {
			score := spec.Score(rec)
			if spec.Of.none != nil && spec.Of.none(score) {
				return nil, p
			}
			var err error
			if p.score, err = spec.Of.to(score); err != nil {
				p.wrong = err.Error()
			}
		}
		if spec.Ties.byTime() {
			p.score = p.score.WithTie(spec.Ties.tie(spec.Made(rec), spec.Low))
		}
		return by(rec), p
	}
	return c
}

func (c *core) Name() string { return c.name }

func (c *core) Def() string { return c.def }

func (c *core) Places(rec plug.Record) []string {
	places, p := c.where(rec)
	for i := range places {
		p.by = places[i]
		places[i] = p.String()
	}
	return places
}

func (c *core) Limit(rec plug.Record) error {
	if c.tooMany == nil {
		return nil
	}
	return c.tooMany(rec)
}

func (c *core) tree(by string, at time.Time) tree {
	var room [128]byte
	name := append(room[:0], c.base...)
	if c.many {
		name = append(append(name, ':'), by...)
	}
	if c.per != Forever {
		name = append(append(name, ':'), kv.JoinText(c.per.name(at))...)
	}
	return c.shelf.tree(name, func() tree { return c.newTree(string(name), by, at) })
}

func (c *core) newTree(name, by string, at time.Time) tree {
	config := keytree.Config{
		Name: name, Limit: c.limit, Code: c.code, Dense: c.ranks == keytree.Dense, Truth: fieldTruth{c, by}, Local: c.local,
		Now: c.host.DB().Now, Later: c.soon, Atomic: c.atomic(),
	}
	if c.per != Forever {
		config.Expires = c.per.add(at, c.keep)
	}
	if !c.own {
		return tree{keytree.New(config), nil}
	}
	own := keytree.NewOwn(name, config.Now, config.Expires)
	own.Note = noter(c.host.DB(), c.noteName(), by, c.per.begin(at))
	config.Truth = own
	return tree{keytree.New(config), own}
}

func (c *core) treeName() string {
	parts := []string{c.host.Model(), c.name + c.form}
	if c.order != "" {
		parts = append(parts, c.order)
	}
	return kv.JoinText(parts...)
}

func (c *core) noteName() string { return noteName(c.host.Model(), c.name+c.form) }

func (c *core) now(by string) tree { return c.tree(by, c.host.DB().Now()) }

type boardKey struct {
	by string
	at time.Time // its begin; zero without periods
}

// time returns a time in the period that began at.
func (c *core) time(at time.Time) time.Time {
	if c.per == Forever {
		return c.host.DB().Now()
	}
	return at
}

// kept returns a time in each kept period, the current one first.
func (c *core) kept() []time.Time {
	now := c.host.DB().Now()
	times := []time.Time{now}
	for past := 1; c.per != Forever && past < c.keep; past++ {
		times = append(times, c.per.add(now, -past))
	}
	return times
}

const (
	followAtOnce  = 500
	membersAtOnce = 100
)

// Tests lower the number of entries in a leaf; 0: the default.
var leafLimit = 0

func (c *core) soon(work func(context.Context, kv.Store) error) {
	c.host.DB().Soon(func(ctx context.Context) error { return work(ctx, c.host.Store()) })
}

func (c *core) atomic() bool { return kv.PowersOf(c.host.Store()).Atomic != nil }

// stateOf needs no places in rec.
func (c *core) stateOf(by string, rec *plug.Seen) keytree.State {
	if rec.Value != nil {
		if all, p := c.where(rec.Value); p.wrong == "" && slices.Contains(all, by) {
			return keytree.State{In: true, Score: p.score, Ver: rec.Rev}
		}
	}
	return keytree.State{Ver: rec.Rev}
}

func stateIn(by string, places []string, rev uint64) keytree.State {
	for _, text := range places {
		if p, err := parsePlace(text); err == nil && p.wrong == "" && p.by == by {
			return keytree.State{In: true, Score: p.score, Ver: rev}
		}
	}
	return keytree.State{Ver: rev}
}

func (c *core) failure(err error) error {
	if err == nil {
		return nil
	}
	return named(c.title, err)
}

func (c *core) eachPlace(ctx context.Context, s kv.Store, places []string, step func(kv.Store, place) error) error {
	return c.failure(kv.Join(kv.Each(ctx, s, places, func(s kv.Store, _ int, text string) error {
		p, err := parsePlace(text)
		if err != nil {
			return err
		}
		return step(s, p)
	})...))
}

func perBoard[V any](ctx context.Context, s kv.Store, all map[string]V, step func(s kv.Store, by string, v V) error) error {
	return kv.Join(kv.Each(ctx, s, slices.Sorted(maps.Keys(all)), func(s kv.Store, _ int, by string) error {
		return step(s, by, all[by])
	})...)
}

type fieldTruth struct {
	c  *core
	by string
}

// An ErrCorrupt of States names the damaged records.
func (ft fieldTruth) States(ctx context.Context, s kv.Store, ids []string) ([]keytree.State, error) {
	recs, err := ft.c.host.SeeMarks(ctx, s, ids...)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	if !slices.ContainsFunc(recs, (*plug.Seen).Damaged) {
		err = nil // With only counters damaged, the score is still known.
	}
	states := make([]keytree.State, len(recs))
	for i, rec := range recs {
		if rec.Damaged() {
			states[i].Broken = rec.Err
			continue
		}
		states[i] = ft.c.stateOf(ft.by, rec)
		states[i].Value = rec.Value
		states[i].Apart = !states[i].In && rec.Value != nil
	}
	return states, err
}

func plugIn[T any, K comparable, S any](records *kvmodel.Records[T, K], c *core, spec Spec[T, S]) {
	if spec.Of.isText() && (spec.Counter != nil || spec.Score == nil) {
		panic("ranking: " + spec.Name + " cannot be of texts: no counter says them")
	}
	c.join(records, spec.Counter, spec.Also, spec.Batch)
}

func (c *core) join(records plug.Model, counter Counter, also []Counter, batch Batch) {
	if counter == nil {
		records.Plug(exact{c}, c.open)
		return
	}
	f := &counted{core: c, counter: counter, batch: batch}
	c.catchUp = f.followThere
	records.Plug(f, func(host plug.Host) {
		c.open(host)
		f.begin()
		for _, counter := range append(also[:len(also):len(also)], counter) {
			counter.Follow(f)
		}
	})
}

// open panics if the model's records expire, since nothing would take expired records off the
// board.
func (c *core) open(host plug.Host) {
	if host.Ends() {
		panic("ranking: " + host.Model() + "." + c.name + " cannot rank records that expire: delete them when they end, or rank records of a model that does not expire")
	}
	c.host, c.title = host, host.Model()+"."+c.name
	c.base = c.treeName()
	c.reports = newReporter(host.DB())
}

const (
	keptTrees   = 4096
	keptRouters = 1 << 17
)

// shelf caches the trees of a set of boards, which share one cache of nodes.
type shelf struct {
	local *keytree.Local

	mu    sync.Mutex
	trees map[string]tree
	names []string
}

func (sh *shelf) tree(name []byte, create func() tree) tree {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if t, known := sh.trees[string(name)]; known {
		return t
	}
	if len(sh.names) >= keptTrees {
		sh.trees[sh.names[0]].Leave()
		delete(sh.trees, sh.names[0])
		sh.names = sh.names[1:]
	}
	t := create()
	sh.trees[t.Name] = t
	sh.names = append(sh.names, t.Name)
	return t
}

type tree struct {
	*keytree.Tree
	own *keytree.Own // nil if the model's records hold the scores
}

type place struct {
	by    string        // text of the value; "" with a single board
	score keytree.Score // 0 on a board by a counter
	wrong string        // why the record cannot be on the board
}

// No value's text contains these separators.
const (
	scoreSign = "@"
	wrongSign = "!"
	wordSign  = "=" // begins no reason in place.wrong
)

var wordText = base64.RawURLEncoding

// String returns by@score, by!wrong, with a tie by!@score@tie, or by!=word.
func (p place) String() string {
	score, tie := strconv.FormatUint(p.score.Uint(), 16), p.score.Tie()
	switch {
	case p.wrong != "":
		return p.by + wrongSign + p.wrong
	case p.score.Word() != "":
		return p.by + wrongSign + wordSign + wordText.EncodeToString([]byte(p.score.Word()))
	case tie == 0:
		return p.by + scoreSign + score
	}
	return p.by + wrongSign + scoreSign + score + scoreSign + strconv.FormatUint(tie, 16)
}

func parsePlace(text string) (place, error) {
	by, wrong, ok := strings.Cut(text, wrongSign)
	if word, isWord := strings.CutPrefix(wrong, wordSign); isWord {
		return placeOfWord(by, word, text)
	}
	if ok && !strings.HasPrefix(wrong, scoreSign) {
		return place{by: by, wrong: wrong}, nil
	}
	by, score, _ := strings.Cut(text, scoreSign)
	score, tie, tied := strings.Cut(score, scoreSign)
	n, err := strconv.ParseUint(score, 16, 64)
	var last uint64
	if err == nil && tied {
		last, err = strconv.ParseUint(tie, 16, 64)
	}
	if err != nil {
		return place{}, badPlace(text)
	}
	return place{by: strings.TrimSuffix(by, wrongSign), score: keytree.FromUint(n).WithTie(last)}, nil
}

func placeOfWord(by, word, text string) (place, error) {
	b, err := wordText.DecodeString(word)
	if err != nil || len(b) == 0 {
		return place{}, badPlace(text)
	}
	return place{by: by, score: keytree.FromWord(string(b))}, nil
}

func badPlace(text string) error {
	return fmt.Errorf("%w: place %q of a ranking", kvmodel.ErrCorrupt, text)
}

func (p place) err() error {
	if p.wrong == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", kvmodel.ErrInvalid, p.wrong)
}
