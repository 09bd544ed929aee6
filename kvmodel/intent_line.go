package kvmodel

import (
	"context"
	"encoding/binary"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// encodeIntent returns the id in the line of an intent: the time it began, a unique name, and its
// args.
func encodeIntent(began time.Time, args []byte) string {
	b := binary.AppendUvarint(nil, uint64(max(began.UnixMilli(), 0)))
	return string(append(wire.AppendText(b, kv.RandomName()), args...))
}

// decodeIntent reverses encodeIntent. The error is an ErrCorrupt.
func decodeIntent(text string) (began time.Time, args []byte, err error) {
	r := wire.Reader{Rest: []byte(text)}
	began = time.UnixMilli(int64(r.Number("intent", math.MaxInt64)))
	r.Text("intent")
	return began, r.Rest, r.Err
}

// Underway is an intent in some journal.
type Underway struct {
	Process string    // the process whose journal it is in
	Own     bool      // that is this process
	Name    string    // of the intent
	Known   bool      // this process can carry it out
	Began   time.Time // on the clock of the process
	Args    map[string]any
	Err     error // last error known to this process; or ErrCorrupt, if the intent cannot be read
}

// Underway returns the intents in all journals, oldest first. An intent of this process has failed
// so far. One of another process may already have ended, even long ago if another that began at the
// same time has not. Underway writes nothing.
func (db *DB) Underway(ctx context.Context) (all []Underway, err error) {
	writers, err := db.Writers(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range writers {
		all = append(all, w.Intents...)
	}
	slices.SortStableFunc(all, func(a, b Underway) int { return a.Began.Compare(b.Began) })
	return all, nil
}

// intentsIn returns the open intents in j.
func (db *DB) intentsIn(j journal.Copy) (all []Underway) {
	for _, l := range j.Lines {
		if name, ok := strings.CutPrefix(l.Model, intentLine); ok {
			if u, open := db.underway(j.Process, name, l.ID); open {
				all = append(all, u)
			}
		}
	}
	return all
}

// underway returns the state of an intent, and whether it may be open.
func (db *DB) underway(process, name, text string) (u Underway, open bool) {
	u = Underway{Process: process, Own: db.core.journal.IsOwn(process), Name: name}
	var body []byte
	if u.Began, body, u.Err = decodeIntent(text); u.Err == nil {
		u.Err = codec.Unmarshal(body, &u.Args)
	}
	if u.Err != nil {
		return u, true
	}
	for _, i := range db.allIntents() {
		if i.called() != name {
			continue
		}
		u.Known = true
		if u.Err, open = i.failing(text); !open && u.Own {
			return u, false
		}
	}
	return u, true
}

// anyIntent is an intent with args of any type.
type anyIntent interface {
	called() string
	failing(text string) (why error, open bool)
	stats(now time.Time) IntentStats
	keepNamed(isNamed func(model, id string) bool)
}

func (i *Intent[A]) called() string { return i.name }

// failing reports whether the intent text has failed so far, and its error.
func (i *Intent[A]) failing(text string) (why error, open bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if u := i.open[text]; u != nil {
		return u.err, true
	}
	return nil, false
}

func (db *DB) allIntents() []anyIntent {
	db.mu.Lock()
	defer db.mu.Unlock()
	return slices.Clone(db.intents)
}

// forgetEnded is called after reading the journals of all other processes. It forgets intents and
// cascades of dead processes that are in no open line: another process has ended them.
func (db *DB) forgetEnded(open []journal.Line) {
	named := make(map[[2]string]bool)
	for _, l := range open {
		named[[2]string{l.Model, l.ID}] = true
	}
	isNamed := func(model, id string) bool { return named[[2]string{model, id}] }
	db.core.cascades.keep(db.core.now().Add(-times.Cascade), isNamed)
	for _, i := range db.allIntents() {
		i.keepNamed(isNamed)
	}
}

// keepNamed forgets the intents of dead processes that are not named.
func (i *Intent[A]) keepNamed(isNamed func(model, id string) bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.open, func(text string, u *underway) bool { return u.line == nil && !isNamed(intentLine+i.name, text) })
}

// intentStats returns the stats of the intents that have failed so far.
func (db *DB) intentStats() (all []IntentStats) {
	for _, i := range db.allIntents() {
		if s := i.stats(db.core.now()); s.Open > 0 {
			all = append(all, s)
		}
	}
	return all
}
