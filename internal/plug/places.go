package plug

import (
	"crypto/sha256"
	"encoding/base32"
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

func (p *Places) Add(some []string) {
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

// noteSign separates a place in a list from its note: the amounts that the record adds to numbers of
// the list. No text of a value contains it.
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

// Tree names are short, for the key of the deepest node.
const (
	longName = 32
	keptName = 12
)

var nameHash = base32.HexEncoding.WithPadding(base32.NoPadding)

// boardForms are the suffixes of a board's name for the form of its tree. Data of one form is not
// found in another.
var boardForms = []string{"", ".newer", ".older", ".dense", WordsForm}

// WordsForm is the form of a tree of words, followed by their order.
const WordsForm = ".words"

// BoardNames returns all names that a board may have, now or in earlier releases of the app.
func BoardNames(board string) (all []string) {
	for _, form := range boardForms {
		all = append(all, board+form)
	}
	return all
}

// TreeName returns the name of a ranking's tree in keys: name, or the beginning and a hash of a
// long one.
func TreeName(name string) string {
	if len(name) <= longName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return name[:keptName] + "#h" + nameHash.EncodeToString(sum[:])[:longName-keptName-2]
}
