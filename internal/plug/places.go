package plug

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Places is a set of places.
type Places struct {
	mu  sync.Mutex // never held during a trip
	all map[string]bool
}

func (p *Places) Note(some []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = make(map[string]bool)
	}
	for _, place := range some {
		p.all[place] = true
	}
}

func (p *Places) Take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Sorted(maps.Keys(p.all))
	p.all = nil
	return all
}

// noteSign separates a place in a list from its note: what the record adds to numbers of the list.
// No text of a value contains it.
const noteSign = "*"

func Noted(place, note string) string {
	if note == "" {
		return place
	}
	return place + noteSign + note
}

func Bare(place string) string {
	place, _, _ = strings.Cut(place, noteSign)
	return place
}

func NoteOf(place string) string {
	_, note, _ := strings.Cut(place, noteSign)
	return note
}

// Bares returns places without their notes, each once.
func Bares(places []string) []string {
	if !HasNotes(places) {
		return places
	}
	var all []string
	for _, place := range places {
		if place = Bare(place); !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return all
}

func HasNotes(places []string) bool {
	return slices.ContainsFunc(places, func(place string) bool { return strings.Contains(place, noteSign) })
}

// At returns the element of places that is place, with its note.
func At(places []string, place string) (at string, ok bool) {
	for _, at := range places {
		if rest, ok := strings.CutPrefix(at, place); ok && (rest == "" || strings.HasPrefix(rest, noteSign)) {
			return at, true
		}
	}
	return "", false
}
