// Package collation sorts texts in the order of a language, for boards of words: see ranking.Text.
// The orders and their large tables are those of golang.org/x/text/collate.
//
// The word of a text is its collation key, compressed. A key has levels: the weights of letters,
// then of accents, then of case, 16 bits or more each. Here frequent weights get short codes, from
// a table that keeps the order: about five bits for a Latin letter. A plain level takes two bits.
// The word ends after 64 bytes, about a hundred Latin letters.
package collation

import (
	"strconv"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// version must be incremented when words change with the same collation tables.
const version = 1

// Collation is the order of a language. It is safe for concurrent use.
type Collation struct {
	name string
	pool sync.Pool // of *collator
}

type collator struct {
	*collate.Collator
	buffer collate.Buffer
}

// Of returns the order of a BCP 47 locale, such as "sv" or "de-u-co-phonebk"; "" is the root order.
// It panics if the locale is invalid.
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

const mostRead = 4096

func (c *Collation) key(text string, f func(levels)) {
	if len(text) > mostRead {
		text = text[:mostRead]
	}
	by := c.pool.Get().(*collator)
	defer c.pool.Put(by)
	by.buffer.Reset()
	f(levelsOf(by.KeyFromString(&by.buffer, text)))
}

// Word returns 1 to 64 bytes that sort like text: see ranking.Collation.
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

// Prefix returns the range of the words of all texts that begin with the letters of text: see
// ranking.Collation.
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
