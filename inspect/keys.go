package inspect

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type owner struct {
	class string // the prefix of the key
	model *model // nil: none, or unknown to this program
	name  string // of the model, or of data that belongs to no model
	part  string // "record", "history", an index, a counter
	known bool   // by this program

	window plug.Window // of an index, or of data that belongs to no model
	base   string      // see plug.Window
	first  bool
	rest   string // of a record's key: the text of the id, unless hashed
}

type class struct {
	part     string // its content
	ofModel  bool   // otherwise it belongs to no model
	nameless bool   // its values name no record
}

var classes = map[string]class{
	"r":       {part: "records", ofModel: true},
	"h":       {part: "history", ofModel: true},
	"ids":     {part: "ids", ofModel: true},
	"seq":     {part: "ids", ofModel: true, nameless: true},
	"built":   {part: "state", ofModel: true, nameless: true},
	"rebuild": {part: "state", ofModel: true, nameless: true},
	"rebuilt": {part: "state", ofModel: true, nameless: true},
	"build":   {part: "state", ofModel: true},

	"line":       {part: "journal"},
	"procs":      {part: "journal", nameless: true},
	"out":        {part: "journal", nameless: true},
	"fixed":      {part: "journal", nameless: true},
	"turn":       {part: "journal", nameless: true},
	"session":    {part: "sessions"},
	"sessions":   {part: "sessions"},
	"generation": {part: "sessions", nameless: true},
	"limit":      {part: "limits", nameless: true},
	"format":     {part: "format", nameless: true},
	"rescued":    {part: "state", nameless: true},
	"recovery":   {part: "state", nameless: true},
}

// A witness is on each server, so that its loss is noticed: see docs/internals/keys.md.
func isWitness(key string) bool { return strings.HasPrefix(key, "ringtree{") }

func (in *Inspector) owner(key string) owner {
	class, rest, _ := strings.Cut(key, ":")
	o := owner{class: class}
	if isWitness(key) {
		o.name, o.part, o.known = "boot", "boot", true
		return o
	}
	of, ok := classes[class]
	if ok && !of.ofModel {
		o.name, o.part, o.known = of.part, of.part, true
		return o
	}
	o.name, o.rest, _ = strings.Cut(rest, ":")
	if class == "ids" {
		o.name, _, _ = strings.Cut(o.name, "#") // a segment
	}
	o.model = in.named(o.name)
	if ok {
		o.part, o.known = of.part, o.model != nil
		return o
	}
	switch class {
	case "n", "c":
		o.part, _, _ = strings.Cut(o.rest, ":")
		o.known = in.db.HasCounter(o.name, o.part)
	case "per":
		o.part, _, _ = strings.Cut(o.rest, ":")
		o.known = o.model != nil && slices.ContainsFunc(o.model.windows, func(w plug.Window) bool { return w.Name() == o.part })
	default:
		in.find(key, &o)
	}
	return o
}

func (in *Inspector) named(name string) *model {
	for i := range in.models {
		if kv.JoinText(in.models[i].Name()) == name {
			return &in.models[i]
		}
	}
	return nil
}

func (in *Inspector) find(key string, o *owner) {
	o.part, _, _ = strings.Cut(o.rest, ":")
	if o.model != nil {
		for _, w := range o.model.windows {
			if o.base, o.first = w.Base(key); o.base != "" {
				o.window, o.part, o.known = w, w.Name(), true
				return
			}
		}
	}
	for _, w := range in.alone {
		if o.base, o.first = w.Base(key); o.base != "" {
			o.window, o.name, o.part, o.known = w, w.Name(), w.Kind(), true
			return
		}
	}
}

func (in *Inspector) eachKey(ctx context.Context, begin string, f func(keys []string) error) error {
	if in.keys == nil {
		return ErrNoKeys
	}
	return in.keys(ctx, begin, func(keys []string) error { return inTrips(keys, f) })
}

type stored struct {
	key   string
	value []byte
}

// scan calls f with the items under begin. want, which may be nil, selects them.
func (in *Inspector) scan(ctx context.Context, p *pacer, begin string, want func(key string) bool, f func([]stored) error) error {
	return in.eachKey(ctx, begin, func(keys []string) error {
		mine := keys
		if want != nil {
			mine = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !want(key) })
		}
		results, err := kv.GetAll(ctx, in.store, mine...)
		if err != nil {
			return err
		}
		var found []stored
		for i, key := range mine {
			if results[i].Err == nil { // Otherwise it was deleted.
				found = append(found, stored{key, results[i].Value})
			}
		}
		if err := f(found); err != nil {
			return err
		}
		return p.did(ctx, len(keys), "")
	})
}

// Share is the share of a store taken by a part of it.
type Share struct {
	Model       string `json:"model"`
	Part        string `json:"part"` // of a model, or the name of data that belongs to no model
	Keys        int64  `json:"keys"`
	Bytes       int64  `json:"bytes"`   // of keys and values
	Biggest     string `json:"biggest"` // key
	BiggestSize int    `json:"biggestSize"`
	Known       bool   `json:"known"` // by this program
}

// Sizes reads the whole store, and returns the share of each part, the largest first.
func (in *Inspector) Sizes(ctx context.Context, p Pace) ([]Share, error) {
	return in.shares(ctx, p.begin("sizes", "keys", 0), func(key string) (Share, bool) {
		o := in.owner(key)
		return Share{Model: o.name, Part: o.part, Known: o.known}, true
	})
}

// List returns the values of an index, MODEL.INDEX, with the number and the bytes of their keys,
// the largest first and at most top. Beyond 100,000 values, some small ones may be missing.
func (in *Inspector) List(ctx context.Context, index string, top int, p Pace) ([]Share, error) {
	_, w, err := in.window(index)
	if err != nil {
		return nil, err
	}
	all, err := in.shares(ctx, p.begin("ls", index, 0), func(key string) (Share, bool) {
		base, _ := w.Base(key)
		return Share{Model: index, Part: base, Known: true}, base != ""
	})
	return all[:min(top, len(all))], err
}

// Up to twice as many are counted at a time.
const sharesKept = 100_000

// shares adds up the keys of the store that of accepts, by their shares.
func (in *Inspector) shares(ctx context.Context, p *pacer, of func(key string) (Share, bool)) (all []Share, err error) {
	sums := make(map[Share]Share)
	largest := func() []Share {
		return slices.SortedFunc(maps.Values(sums), func(a, b Share) int {
			return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Part, b.Part))
		})
	}
	isCounted := func(key string) bool { _, ok := of(key); return ok }
	err = in.scan(ctx, p, "", isCounted, func(found []stored) error {
		for _, at := range found {
			part, _ := of(at.key)
			sum, ok := sums[part]
			if !ok {
				sum = part
			}
			sums[part] = sum.with(at)
		}
		if len(sums) >= 2*sharesKept {
			for _, s := range largest()[sharesKept:] {
				delete(sums, Share{Model: s.Model, Part: s.Part, Known: s.Known})
			}
		}
		return nil
	})
	return largest(), err
}

func (s Share) with(at stored) Share {
	s.Keys++
	s.Bytes += int64(len(at.key) + len(at.value))
	if size := len(at.value); size > s.BiggestSize || s.Biggest == "" {
		s.Biggest, s.BiggestSize = at.key, size
	}
	return s
}

// Item is the content of a key.
type Item struct {
	Key     string   `json:"key"`
	Exists  bool     `json:"exists"`
	Owner   string   `json:"owner"` // MODEL.PART
	Known   bool     `json:"known"` // by this program
	Bytes   int      `json:"bytes"`
	Lines   []string `json:"lines,omitempty"` // the decoded content
	Damaged error    `json:"damaged,omitempty"`
	Value   []byte   `json:"-"` // as stored
}

// Key returns the content of one key of any kind.
func (in *Inspector) Key(ctx context.Context, key string) (Item, error) {
	o := in.owner(key)
	it := Item{Key: key, Owner: partName(o.name, o.part), Known: o.known}
	results, err := kv.GetAll(ctx, in.store, key)
	if err != nil || results[0].Err != nil {
		return it, err
	}
	it.Exists, it.Value, it.Bytes = true, results[0].Value, len(results[0].Value)
	switch {
	case o.window != nil:
		it.Lines, it.Damaged = o.window.Show(key, it.Value)
	case o.class == "r" && o.model != nil:
		s := o.model.Decode("", it.Value)
		r := recordOf(*o.model, &s)
		it.Lines, it.Damaged = []string{r.summary()}, r.Err
	case isText(it.Value):
		it.Lines = []string{string(it.Value)}
	}
	it.Damaged = texted(it.Damaged)
	return it, nil
}

func isText(value []byte) bool {
	return !slices.ContainsFunc(value, func(b byte) bool { return b < ' ' && b != '\n' || b > '~' })
}

// Leftover is data of no model of this program.
type Leftover struct {
	What   string // MODEL or MODEL.PART
	Keys   int64
	Bytes  int64
	Sample string // one of the keys
}

// Leftovers returns the data of unknown models, indexes and counters. Another program may use it,
// so a person must decide. Keys that this module never writes are left out.
func (in *Inspector) Leftovers(ctx context.Context, p Pace) (list []Leftover, err error) {
	all, err := in.shares(ctx, p.begin("sweep", "keys", 0), func(key string) (Share, bool) {
		what := in.leftover(key)
		return Share{Part: what}, what != ""
	})
	for _, s := range all {
		list = append(list, Leftover{What: s.Part, Keys: s.Keys, Bytes: s.Bytes, Sample: s.Biggest})
	}
	slices.SortFunc(list, func(a, b Leftover) int { return strings.Compare(a.What, b.What) })
	return list, err
}

// leftover returns the unknown owner of key, and "" for a hash, which may be of a known one.
func (in *Inspector) leftover(key string) string {
	o := in.owner(key)
	if o.known || kv.IsHashed(key) {
		return ""
	}
	switch o.class {
	case "n", "c", "per", "l", "u", "t":
		if o.model == nil {
			return o.name
		}
		return o.name + "." + o.part
	case "rank", "e":
		return strings.Trim(o.name+"."+o.part, ".")
	}
	if classes[o.class].ofModel {
		return o.name
	}
	return ""
}

// Sweep deletes the leftovers of these names, and returns the number of keys.
func (in *Inspector) Sweep(ctx context.Context, what []string, p Pace) (deleted int64, err error) {
	if err := in.db.Writable(); err != nil {
		return 0, err
	}
	there, err := in.Leftovers(ctx, Pace{Rate: p.Rate})
	if err != nil {
		return 0, err
	}
	for _, name := range what {
		if !slices.ContainsFunc(there, func(l Leftover) bool { return l.What == name }) {
			return 0, fmt.Errorf("%w: there are no leftovers of %s", kvmodel.ErrInvalid, name)
		}
	}
	pace := p.begin("sweep", "keys", 0)
	err = in.eachKey(ctx, "", func(keys []string) error {
		var ops []kv.Op
		for _, key := range keys {
			if slices.Contains(what, in.leftover(key)) {
				ops = append(ops, kv.OpDelete(key))
			}
		}
		_ = in.db.Store().Do(ctx, ops) // Each op has its own result.
		for i := range ops {
			if err := ops[i].Err(); err != nil && !kv.Raced(err) {
				return err
			}
			deleted++
		}
		return pace.did(ctx, len(keys), "")
	})
	return deleted, err
}
