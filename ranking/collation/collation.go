// Package collation puts texts in the order of a language, for boards of words: see
// ranking.Text. The orders are those of golang.org/x/text/collate, whose tables are large. So a
// program links them only if one of its boards is by a text.
//
// The word of a text is its collation key, made shorter. A key has levels: first the weights of
// the letters, then those of accents, then those of case. A weight takes 16 bits or more. Here
// a frequent one gets a short code, by a table that keeps the order: about five bits for a
// letter of the Latin alphabet. A level at which nothing is special takes two bits. The word
// ends after 64 bytes, which is about a hundred Latin letters.
package collation

import (
	"strconv"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// version is raised when words of a text change although the tables of the collation do not.
const version = 1

// Collation is the order of a language. It may be used by several goroutines at once.
type Collation struct {
	name string
	pool sync.Pool // of *collator
}

// collator is what makes one key at a time.
type collator struct {
	*collate.Collator
	buffer collate.Buffer
}

// Of returns the order of the language that a BCP 47 tag names, such as "sv" or
// "de-u-co-phonebk"; "" is that of no language in particular. It panics if there is no such
// tag.
func Of(locale string) *Collation {
	tag, err := language.Parse(locale)
	if err != nil && locale != "" {
		panic("collation: the locale " + strconv.Quote(locale) + ": " + err.Error())
	}
	name := "root"
	if locale != "" {
		name = tag.String()
	}
	return &Collation{
		name: name + "." + collate.CLDRVersion + "." + strconv.Itoa(version),
		pool: sync.Pool{New: func() any { return &collator{Collator: collate.New(tag)} }},
	}
}

// Name returns the locale, and the versions of the tables and of the words.
func (c *Collation) Name() string { return c.name }

// mostRead is how many bytes of a text are looked at: more than there are in a word.
const mostRead = 4096

// key calls f with the levels of the collation key of text.
func (c *Collation) key(text string, f func(levels)) {
	if len(text) > mostRead {
		text = text[:mostRead]
	}
	by := c.pool.Get().(*collator)
	defer c.pool.Put(by)
	by.buffer.Reset()
	f(levelsOf(by.KeyFromString(&by.buffer, text)))
}

// Word returns bytes in whose order texts stand: see ranking.Collation.
func (c *Collation) Word(text string) (word string) {
	c.key(text, func(l levels) {
		var w writer
		for _, weight := range l.letters {
			w.weight(letterCodes(), weight)
		}
		w.weight(letterCodes(), end)
		w.level(accentCodes(), l.accents, plainAccent, len(l.letters))
		w.level(caseCodes(), l.cases, plainCase, len(l.letters))
		word = string(w.bytes)
	})
	return word
}

// Prefix returns what the words of all texts with the letters of text, and more, are between:
// see ranking.Collation.
func (c *Collation) Prefix(text string) (low, high string) {
	c.key(text, func(l levels) {
		var w writer
		for _, weight := range l.letters {
			w.weight(letterCodes(), weight)
		}
		low, high = string(w.bytes), w.next()
	})
	return low, high
}
