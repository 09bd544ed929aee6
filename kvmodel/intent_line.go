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

// encodeIntent returns the id in the line of an intent: when it has begun, a name that no other
// has, and its args.
func encodeIntent(began time.Time, args []byte) string {
	b := binary.AppendUvarint(nil, uint64(max(began.UnixMilli(), 0)))
	return string(append(wire.AppendText(b, kv.RandomName()), args...))
}

// decodeIntent returns what encodeIntent was given. The error is an ErrCorrupt.
func decodeIntent(text string) (began time.Time, args []byte, err error) {
	r := wire.Reader{Rest: []byte(text)}
	began = time.UnixMilli(int64(r.Number("intent", math.MaxInt64)))
	r.Text("intent")
	return began, r.Rest, r.Err
}

// Underway is an intent that some journal names.
type Underway struct {
	Process string    // in whose journal it is
	Own     bool      // that is this process
	Name    string    // of the intent
	Known   bool      // this process can carry it out
	Began   time.Time // by the clock of the process
	Args    map[string]any
	Err     error // why it has failed, as far as this process knows; or ErrCorrupt, if it cannot be read
}

// Underway returns the intents that journals name, the oldest first. One of this process has
// failed so far. One of another process may have ended a moment ago, or even long ago, if
// something that began beside it has not. It writes nothing.
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

// intentsIn returns those that j names.
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

// underway returns what is known of an intent, and whether it may be open.
func (db *DB) underway(process, name, text string) (u Underway, open bool) {
	u = Underway{Process: process, Own: db.journal.IsOwn(process), Name: name}
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

// failing reports whether what text says has failed so far, and why.
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

// forgetEnded is called after a look at the journals of all other processes. It forgets the
// intents and the cascades of dead processes that another process has ended: the journal lines
// that are still open do not name them.
func (db *DB) forgetEnded(open []journal.Line) {
	named := make(map[[2]string]bool)
	for _, l := range open {
		named[[2]string{l.Model, l.ID}] = true
	}
	isNamed := func(model, id string) bool { return named[[2]string{model, id}] }
	db.cascades.keep(db.now().Add(-times.Cascade), isNamed)
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

// intentStats returns how those intents are doing that have failed to end so far.
func (db *DB) intentStats() (all []IntentStats) {
	for _, i := range db.allIntents() {
		if s := i.stats(db.now()); s.Open > 0 {
			all = append(all, s)
		}
	}
	return all
}
