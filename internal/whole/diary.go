package whole

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Diary records the changes of some processes' writers, in order.
type Diary struct {
	mu      sync.Mutex
	now     int
	entries []*Entry
	wrong   []string
}

// Entry is one call of a writer, from Begin to End by the diary's count.
type Entry struct {
	Who, What, About string
	Token            string
	Begin, End       int // 0: it never ended
	Err              error
}

func (e *Entry) done() bool { return e.End > 0 && e.Err == nil }

// maybe reports whether the call may have been carried out, or may still be.
func (e *Entry) maybe() bool {
	return e.End == 0 || e.Err == nil || errors.Is(e.Err, kv.ErrUnclear) || errors.Is(e.Err, kvtest.ErrCrashed)
}

func (e *Entry) String() string {
	return fmt.Sprintf("%4d-%-4d %s %s %s: %v", e.Begin, e.End, e.Who, e.What, e.About, e.Err)
}

func (d *Diary) do(who, what, about, token string, f func() error) error {
	e := &Entry{Who: who, What: what, About: about, Token: token, Begin: d.tick()}
	d.mu.Lock()
	d.entries = append(d.entries, e)
	d.mu.Unlock()
	err := f()
	end := d.tick()
	d.mu.Lock()
	defer d.mu.Unlock()
	e.End, e.Err = end, err
	return err
}

func (d *Diary) tick() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now++
	return d.now
}

func (d *Diary) blame(who, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wrong = append(d.wrong, fmt.Sprintf(format, args...)+fmt.Sprintf(" (%s at %d)", who, d.now))
}

func (d *Diary) Calls() int { return len(d.entries) }

func (d *Diary) of(what, about string) []*Entry {
	var found []*Entry
	for _, e := range d.entries {
		if e.What == what && e.About == about {
			found = append(found, e)
		}
	}
	return found
}

// Story returns the calls related to a line of Judge.
func (d *Diary) Story(line string) []string {
	words := strings.FieldsFunc(line, func(c rune) bool { return strings.ContainsRune(` :;,"{}[]()`, c) })
	about := func(e *Entry) bool {
		return slices.ContainsFunc(strings.Fields(e.About), func(id string) bool { return slices.Contains(words, id) }) ||
			words[0] == "Offer" && slices.Contains([]string{"put", "touch", "withdraw"}, e.What) ||
			words[0] == "Bid" && slices.Contains([]string{"bid", "unbid"}, e.What) ||
			words[0] == "Poll" && slices.Contains([]string{"poll", "vote", "unvote"}, e.What) ||
			words[0] == "Piece" && slices.Contains([]string{"piece", "smash"}, e.What)
	}
	var lines []string
	for _, e := range d.entries {
		if about(e) {
			lines = append(lines, e.String())
		}
	}
	return lines
}
