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
	// between log lines
	tellEvery = time.Second

	// of an error in a log line
	maxText = 400
)

// Failures counts and logs failures after replies: at most one line a second.
type Failures struct {
	log *slog.Logger

	mu     sync.Mutex
	counts map[string]int  // by kind
	untold map[alike]*told // failures since their last line
	order  []alike         // keys of untold, oldest first
	timer  *time.Timer     // nil: the last line was long ago
}

// alike is the common key of failures counted together.
type alike struct {
	level                    slog.Level
	what, model, index, kind string
}

type told struct {
	times int
	first error
}

func NewFailures(log *slog.Logger) *Failures {
	return &Failures{log: log, counts: make(map[string]int), untold: make(map[alike]*told)}
}

// Log counts a failure and logs it within a second. Below Warn it is only logged.
func (f *Failures) Log(level slog.Level, what string, err error) {
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

// Counts returns the number of failures by kind: lost, unclear, unavailable, corrupt, conflict,
// late, or other.
func (f *Failures) Counts() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.counts)
}

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

func (f *Failures) again() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tell()
}

// tell logs a line and schedules the next. The caller holds mu.
func (f *Failures) tell() {
	f.timer = nil
	if len(f.order) > 0 {
		f.tellNext()
		f.timer = time.AfterFunc(tellEvery, f.again)
	}
}

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

// about does not show in the error's text.
type about struct {
	model, index string
	error
}

func (e *about) Unwrap() error { return e.error }

// About returns err with its model and index, for logs, unless it has them already. index may be
// "".
func About(model, index string, err error) error {
	if err == nil || subject(err).index != "" || index == "" && subject(err).model != "" {
		return err
	}
	return &about{model, index, err}
}

func subject(err error) about {
	if e := (*about)(nil); errors.As(err, &e) {
		return *e
	}
	return about{}
}
