package inspect

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Inspector reads one database.
type Inspector struct {
	db    *kvmodel.DB
	store kv.Store // refuses writes
	keys  func(ctx context.Context, begin string, f func(keys []string) error) error

	models []model
	alone  []plug.Window // windows that belong to no model
}

type model struct {
	plug.Class
	windows []plug.Window
}

// New returns an Inspector of db. All models must be registered in db before.
func New(db *kvmodel.DB) *Inspector {
	in := &Inspector{db: db, store: kv.ReadOnly(db.Store(), errReads), keys: kv.PowersOf(db.Store()).Keys}
	classes, others := db.Windows()
	for _, c := range classes {
		in.models = append(in.models, model{c, c.Windows()})
	}
	in.alone = others
	return in
}

var (
	// ErrUnknown means that there is no model, index or verb of that name.
	ErrUnknown = errors.New("unknown")

	// ErrNoKeys means that the store cannot list its keys, as the call requires.
	ErrNoKeys = errors.New("the store cannot list its keys")

	errReads = fmt.Errorf("%w: %w: this verb only reads", kv.ErrUnavailable, kvmodel.ErrReadOnly)
)

func (in *Inspector) model(name string) (model, error) {
	for _, m := range in.models {
		if m.Name() == name {
			return m, nil
		}
	}
	return model{}, unknown("model", name, in.names())
}

func (in *Inspector) names() (names []string) {
	for _, m := range in.models {
		names = append(names, m.Name())
	}
	return names
}

// window returns the index MODEL.INDEX, with its model, or data that belongs to no model.
func (in *Inspector) window(name string) (of *model, w plug.Window, err error) {
	var known []string
	for i := range in.models {
		m := &in.models[i]
		for _, w := range m.windows {
			full := m.Name() + "." + w.Name()
			if full == name {
				return m, w, nil
			}
			known = append(known, full)
		}
	}
	for _, w := range in.alone {
		if w.Name() == name {
			return nil, w, nil
		}
		known = append(known, w.Name())
	}
	return nil, nil, unknown("index", name, known)
}

func unknown(what, name string, known []string) error {
	if near := nearest(name, known); near != "" {
		return fmt.Errorf("%w %s %q; did you mean %s?", ErrUnknown, what, name, near)
	}
	if len(known) == 0 {
		return fmt.Errorf("%w %s %q: there is none", ErrUnknown, what, name)
	}
	slices.Sort(known)
	return fmt.Errorf("%w %s %q; there are %s", ErrUnknown, what, name, strings.Join(known, ", "))
}

func nearest(name string, known []string) string {
	names := new(cobra.Command)
	for _, k := range known {
		names.AddCommand(&cobra.Command{Use: k, Run: func(*cobra.Command, []string) {}})
	}
	for name != "" && names.SuggestionsMinimumDistance <= len(name)/3 {
		names.SuggestionsMinimumDistance++
		if near := names.SuggestionsFor(name); len(near) > 0 {
			return strings.Join(near, " or ")
		}
	}
	return ""
}

// Step is the progress of a long call.
type Step struct {
	Verb  string // check, build
	What  string // the model, or "keys"
	Done  int64
	Total int64  // approximate; 0: unknown
	Found int64  // found so far
	To    string // the value of option From to continue there; "": it cannot
}

// Pace is the pace of a long call.
type Pace struct {
	Rate     int        // maximum of records or keys a second; 0: unlimited
	Progress func(Step) // called with each step; may be nil
	From     string     // the last Step.To of an earlier call, to continue it; "": from the beginning
}

// most returns n, or fewer at a low rate, but at least one trip of them.
func (p Pace) most(n int) int {
	if p.Rate > 0 {
		n = min(n, p.Rate)
	}
	return max(n, at)
}

type pacer struct {
	Pace
	began time.Time
	step  Step
}

func (p Pace) begin(verb, what string, total int64) *pacer {
	return &pacer{Pace: p, began: time.Now(), step: Step{Verb: verb, What: what, Total: total}}
}

// did counts n more items, and slows down to the rate.
func (p *pacer) did(ctx context.Context, n int, to string) error {
	p.step.Done += int64(n)
	p.step.To = to
	if p.Progress != nil {
		p.Progress(p.step)
	}
	if p.Rate > 0 && !kv.Sleep(ctx, time.Until(p.began.Add(time.Duration(p.step.Done)*time.Second/time.Duration(p.Rate)))) {
		return kv.TooLate(ctx)
	}
	return ctx.Err()
}

// A sum128 stands for a text. Of a billion texts, two are the same with a chance below 1 in 10^20.
type sum128 [16]byte

func hashOf(text string) sum128 {
	sum := sha256.Sum256([]byte(text))
	return sum128(sum[:len(sum128{})])
}

// at records are read in the trips of one.
const at = 100

func inTrips[T any](all []T, f func(some []T) error) error {
	for some := range slices.Chunk(all, at) {
		if err := f(some); err != nil {
			return err
		}
	}
	return nil
}
