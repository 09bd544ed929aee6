package work

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	// tellEvery is how often a line is logged while things fail.
	tellEvery = time.Second

	// maxText is how much of an error a line has.
	maxText = 400
)

// Failures counts what fails after replies, and logs it: at most one line a second. A line
// is about failures that are alike, and counts them; those that wait longest come first.
type Failures struct {
	log *slog.Logger

	mu     sync.Mutex
	counts map[string]int  // by kind, since the process began
	untold map[alike]*told // since the last line about them
	order  []alike         // the keys of untold, from the first to have failed on
	timer  *time.Timer     // for the next line; nil: the last one is long ago
}

// alike is what the failures have in common that are counted together.
type alike struct {
	level                    slog.Level
	what, model, index, kind string
}

// told is how often something has failed, and how at first.
type told struct {
	times int
	first error
}

// NewFailures returns failures that are logged to log.
func NewFailures(log *slog.Logger) *Failures {
	return &Failures{log: log, counts: make(map[string]int), untold: make(map[alike]*told)}
}

// Note counts a failure of what, and logs it now or within a second. Below Warn it is
// only logged.
func (f *Failures) Note(level slog.Level, what string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kind := kindOf(err)
	if level >= slog.LevelWarn {
		f.counts[kind]++
	}
	if !f.log.Enabled(context.Background(), level) {
		return
	}
	about := subject(err)
	key := alike{level, what, about.model, about.index, kind}
	if f.untold[key] == nil {
		f.untold[key] = &told{first: err}
		f.order = append(f.order, key)
	}
	f.untold[key].times++
	if f.timer == nil {
		f.tell()
	}
}

// Counts returns how often something has failed, by kind: lost, unclear, unavailable,
// corrupt, conflict, late, or other.
func (f *Failures) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

// Flush logs now what was not logged yet.
func (f *Failures) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.timer != nil {
		f.timer.Stop()
		f.timer = nil
	}
	for len(f.order) > 0 {
		f.tellNext()
	}
}

// again logs the next line, a second after the last one.
func (f *Failures) again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell()
}

// tell logs a line if something has failed, and sees to the next. The caller holds the
// lock.
func (f *Failures) tell() {
	f.timer = nil
	if len(f.order) > 0 {
		f.tellNext()
		f.timer = time.AfterFunc(tellEvery, f.again)
	}
}

// tellNext logs what has waited longest. The caller holds the lock.
func (f *Failures) tellNext() {
	key := f.order[0]
	t := f.untold[key]
	f.order = f.order[1:]
	delete(f.untold, key)
	args := []any{"times", t.times, "kind", key.kind, "err", Clip(t.first)}
	if key.model != "" {
		args = append(args, "model", key.model)
	}
	if key.index != "" {
		args = append(args, "index", key.index)
	}
	f.log.Log(context.Background(), key.level, "ringtree: "+key.what, args...)
}

// Clip returns the beginning of err's text, as a log line has it.
func Clip(err error) string {
	text := err.Error()
	if len(text) <= maxText {
		return text
	}
	return text[:maxText] + "..."
}

func kindOf(err error) string {
	switch failure := kv.Failure(err); {
	case failure == kv.ErrLost:
		return "lost"
	case failure == kv.ErrUnclear:
		return "unclear"
	case failure == kv.ErrUnavailable:
		return "unavailable"
	case errors.Is(err, codec.ErrCorrupt):
		return "corrupt"
	case errors.Is(err, kv.ErrConflict):
		return "conflict"
	case errors.Is(err, context.DeadlineExceeded):
		return "late"
	}
	return "other"
}

// about is an error with the model and the index that it concerns. Its text is that of
// the error.
type about struct {
	model, index string
	error
}

func (e *about) Unwrap() error { return e.error }

// About returns err, which concerns an index of a model, or the model where index is "",
// so that logs say so. Where err says so already, it is left as it is.
func About(model, index string, err error) error {
	if err == nil || subject(err).index != "" || index == "" && subject(err).model != "" {
		return err
	}
	return &about{model, index, err}
}

// subject returns what err is about.
func subject(err error) about {
	if e := (*about)(nil); errors.As(err, &e) {
		return *e
	}
	return about{}
}
