package whole_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type flip struct {
	at  spot
	bit byte
}

type spot string

const (
	atFirst  spot = "first"
	inMiddle spot = "middle"
	atLast   spot = "last"
)

// An empty value has no bit.
func (f flip) of(value []byte) []byte {
	value = slices.Clone(value)
	if len(value) > 0 {
		value[map[spot]int{atFirst: 0, inMiddle: len(value) / 2, atLast: len(value) - 1}[f.at]] ^= f.bit
	}
	return value
}

func (f flip) String() string { return fmt.Sprintf("bit %02x of the %s byte", f.bit, f.at) }

// toDigit changes the last digit of a number, toLetter makes its first one a letter.
var toDigit, toLetter = flip{atLast, 0x01}, flip{atFirst, 0x40}

func flips(value []byte) [tries]*flip {
	if _, err := kv.ParseNumber(value); err == nil {
		return [tries]*flip{&toDigit, &toLetter, &toLetter}
	}
	return [tries]*flip{{inMiddle, 0x10}, {atLast, 0x01}, {atFirst, 0x01}}
}

// damage flips one bit within the content of an item.
var damage = matrix{
	name:  "damage",
	items: kind.wrecked,
	class: func(key string, value []byte) string {
		if len(value) == 0 {
			return "empty"
		}
		return damagedClass(key, value)
	},
	spared: []string{"empty"},
	flips:  flips,
	says:   []error{kvmodel.ErrNeedsRebuild, kv.ErrLost, kvmodel.ErrCorrupt},
	reach:  10,
	limits: damageLimits,
	first:  []string{"ids segment Work fresh", "line fresh", "r Bid running", "built Work running", "out fresh", "procs fresh"},
}

func damagedClass(key string, value []byte) string {
	parts := strings.SplitN(key, ":", 4)
	switch parts[0] {
	case "r", "h", "built":
		return parts[0] + " " + parts[1]
	case "ids":
		model, segment, _ := strings.Cut(parts[1], "#")
		if segment != "" {
			return "ids segment " + model
		}
		return "ids head " + model
	case "n", "c":
		return parts[0] + " " + parts[1] + " " + parts[2]
	}
	return lostClass(key, value)
}

// damageLimits are for items that no other data contains (docs/memcached.md).
var damageLimits = map[string]limit{
	"n Work Views":        {digit: true, unmended: true}, // Set mends it
	"c Work Likes":        {digit: true},
	"per":                 {digit: true},
	"seq":                 {digit: true},
	"t counter":           {digit: true},
	"e counter":           {digit: true, from: afterWrites, until: never}, // the ring has less room
	"rebuild":             {digit: true},
	"rebuilt":             {digit: true},
	"rank counter record": {digit: true},
	"ids segment":         {unmended: true}, // Accept takes it for lost
	"h Work":              {unmended: true}, // until newer revisions replace it
	"line":                reordered(true),  // unmended until its process is dead and repaired
	"r":                   {unmended: true}, // Delete mends it
	"e #a":                {unmended: true}, // until others replace it, or Clear
	"e #p":                {unmended: true},
	"e segment":           {unmended: true},
}

var timelines = []string{"Newest", "Notes"}

// reordered is for an item on which all indexes of a model rest: a build puts a timeline in the
// order of creation.
func reordered(unmended bool) limit {
	return limit{from: rebuilt, until: never, only: timelines, wide: true, unmended: unmended}
}

func TestMatrix_OfDamage_EveryAnswerIsRightOrSaysSo(t *testing.T) { damage.goThrough(t) }

// A harm befalls items of a store, under a running process or before one starts. After each stage,
// every answer must be the one without the harm, or an error that reports it.
type harm struct {
	kind
	class   string
	name    string
	running bool
	hits    func(key string) bool // nil: no item
	flip    *flip                 // nil: they are lost
	says    []error               // errors that may report it
	reach   int                   // percentage of answers that may
	course  []stage
}

func (h harm) String() string {
	return fmt.Sprintf("%s %s, %s process", h.kind.name, h.name, h.column())
}

func (h harm) column() string {
	if h.running {
		return "running"
	}
	return "fresh"
}

func (h harm) befall(t *testing.T, mem *memkv.Store) {
	hit := 0
	for _, key := range mem.Keys() {
		switch {
		case h.hits == nil || !h.hits(key):
			continue
		case h.flip == nil:
			mem.Evict(key)
		default:
			must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, h.flip.of(valueOf(t, mem, key)))}))
		}
		hit++
	}
	if h.hits != nil && hit == 0 {
		t.Errorf("%v: it hits no item", h)
	}
}

func (h harm) isSaid(answer string) bool {
	return answer == whole.NeedsRebuild && h.says != nil ||
		slices.ContainsFunc(h.says, func(err error) bool { return strings.Contains(answer, err.Error()) })
}

type stage struct {
	name     string
	take     func(*play)
	newcomer bool
}

const (
	atOnce = iota
	afterWrites
	later
	rebuilt
	never
)

var usualCourse = []stage{
	{"at once", func(*play) {}, false},
	{"after writes", (*play).write, true},
	{"later", (*play).rest, true},
	{"rebuilt", (*play).rebuild, true},
}

type play struct {
	harm
	t    *testing.T
	mem  *memkv.Store
	all  []*whole.Library // the processes that look; the first exists from the beginning
	omit map[string]bool
	seen
}

type seen struct {
	shown   [][]whole.Shown // the answers at each stage, by process
	refused map[string]bool // changes refused with an error that reports the harm
	said    error
	errs    []string // errors that do not report the harm
}

func (h harm) play(t *testing.T, items map[string][]byte, omit map[string]bool) seen {
	p := &play{harm: h, omit: omit, seen: seen{refused: map[string]bool{}}}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // The items were written within an hour.
		p.t, p.mem = t, holding(t, items)
		if !h.running {
			h.befall(t, p.mem)
		}
		p.enter()
		if h.running {
			p.all[0].Look(ctx)
			must(t, p.all[0].DB.Flush(ctx))
			h.befall(t, p.mem)
		}
		for _, s := range h.course {
			s.take(p)
			p.look(s.newcomer)
		}
	})
	return p.seen
}

func (p *play) enter() *whole.Library {
	l := p.open(p.t, p.mem)
	p.all = append(p.all, l)
	return l
}

// All omits unreadable records, so look asks for them by id, too.
func (p *play) look(newcomer bool) {
	var shown []whole.Shown
	ask := func(l *whole.Library) {
		s := l.Look(ctx)
		l.LookByID(ctx, s)
		shown = append(shown, s)
	}
	for _, l := range p.all {
		ask(l)
	}
	if newcomer {
		ask(p.open(p.t, p.mem))
	}
	p.shown = append(p.shown, shown)
}

func (p *play) note(what string, err error) bool {
	if err == nil {
		return false
	}
	if slices.ContainsFunc(p.says, func(said error) bool { return errors.Is(err, said) }) {
		return true
	}
	p.errs = append(p.errs, fmt.Sprint(what, ": ", err))
	return false
}

func (p *play) write() {
	l := p.all[0]
	other := l
	if !p.powers(p.mem).Alone {
		other = p.open(p.t, p.mem)
	}
	changes := []map[string]func() error{writes(l), writes(other)}
	for i, name := range slices.Sorted(maps.Keys(changes[0])) {
		if !p.omit[name] && p.note(name, changes[i%2][name]()) {
			p.refused[name] = true
		}
	}
	p.note("flush", l.DB.Flush(ctx))
	p.note("flush", other.DB.Flush(ctx))
	time.Sleep(20 * time.Second)
}

func (p *play) rest() {
	for range 2 {
		p.note("flush", p.all[0].DB.Flush(ctx))
		time.Sleep(time.Minute)
	}
}

func (p *play) rebuild() {
	if err := mend(p.all[0]); p.note("rebuild", err) {
		p.said = err
	}
	p.rest()
}

func mends(l *whole.Library) (all []func() error) {
	for _, m := range l.All() {
		all = append(all, func() error { return m.Rebuild(ctx) })
	}
	return all
}

func mend(l *whole.Library) error {
	var errs []error
	for _, f := range mends(l) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// A limit is the possible cost of a harm. Without one, every answer is right or reports the harm,
// and a rebuild makes all right.
type limit struct {
	from, until int      // stages from and before which something may be missing without an error
	only        []string // in the answers to questions with one of these; none: to all
	unmended    bool     // Rebuild cannot make the item again, and reports that
	digit       bool     // a number without a checksum
	wide        bool     // all indexes of a model rest on the item
}

// verdict counts answers.
type verdict struct {
	wrong       []string
	limited     bool
	says, asked int
}

func (v verdict) word() string {
	switch {
	case len(v.wrong) > 0 && v.limited:
		return "less"
	case len(v.wrong) > 0:
		return "WRONG"
	case v.says > 0:
		return "says so"
	}
	return "right"
}

// An answer is right only if its question was asked in both libraries.
func (v *verdict) add(question, want, got string, asked, says bool) {
	v.asked++
	switch {
	case asked && got == want:
	case says:
		v.says++
	default:
		v.wrong = append(v.wrong, fmt.Sprintf("%s: want %.300q, got %.300q", question, want, got))
	}
}

func (h harm) judge(v *verdict, want, got whole.Shown) {
	for question, right := range want {
		text, asked := got[question]
		if !asked {
			model, _, _ := strings.Cut(question, " ")
			text = got[model+" All"]
		}
		v.add(question, right, text, asked, h.isSaid(text))
	}
	slices.Sort(v.wrong)
}

// wanted has the answers without harm, by kind and omitted changes.
type wanted map[string]seen

func (h harm) try(t *testing.T, items map[string][]byte, wants wanted, limit limit) (worst, end string) {
	t.Helper()
	got := h.play(t, items, nil)
	name := fmt.Sprint(h.kind.name, slices.Sorted(maps.Keys(got.refused)))
	want, known := wants[name]
	if !known {
		want = harm{kind: h.kind, course: h.course}.play(t, items, got.refused)
		wants[name] = want
	}
	complaints := append(got.errs, want.errs...)
	worst, says := "right", got.said != nil
	for i, stage := range h.course {
		v := verdict{limited: limit.from <= i && i < limit.until}
		for j := range got.shown[i] {
			h.judge(&v, want.shown[i][j], got.shown[i][j])
		}
		for _, wrong := range v.wrong {
			if !v.limited || !limit.isAbout(wrong) {
				complaints = append(complaints, stage.name+": "+wrong)
			}
		}
		if 100*v.says > h.reach*v.asked && !limit.wide {
			complaints = append(complaints, fmt.Sprintf("%s: %d of %d answers say so, more than %d%%", stage.name, v.says, v.asked, h.reach))
		}
		if end = v.word(); slices.Index(findings, end) < slices.Index(findings, worst) {
			worst = end
		}
		says = got.said != nil || v.says > 0
	}
	if says && !limit.unmended {
		complaints = append(complaints, "Rebuild does not mend it")
	}
	for _, complaint := range complaints[:min(len(complaints), 8)] {
		t.Errorf("%v: %s", h, complaint)
	}
	return worst, end
}

func (l limit) isAbout(wrong string) bool {
	return len(l.only) == 0 || slices.ContainsFunc(l.only, func(question string) bool { return strings.Contains(wrong, question) })
}
