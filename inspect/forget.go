package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Trace is a place where something of a record still stands.
type Trace struct {
	Key   string
	Owner string // MODEL.PART
	What  string // "its id", "its ByEmail"
}

// Forgotten is what has become of a record that was to be erased.
type Forgotten struct {
	Model, ID string
	Traces    []Trace  // where its id or one of its unique values still stands, and who may erase it there
	Keys      int64    // that were searched, with their values
	Unasked   []string // where was not looked
}

// Forget erases a record: it, its history, its tombstone and its counters, and its id in all
// indexes and in the ids of the model. Then it looks for what still names the record, in the
// keys and the values of the whole store: a record of another model that refers to it, an
// event, a session. What stands in backups, exports and shipped logs it cannot see, nor an id
// that is a number in a field.
//
// It waits for changes of the record that are under way: see Records.Purge.
func (in *Inspector) Forget(ctx context.Context, name, id string, p Pace) (f Forgotten, err error) {
	f = Forgotten{Model: name, ID: id}
	m, err := in.model(name)
	if err != nil {
		return f, err
	}
	words, err := in.namesOf(ctx, m, id)
	if err != nil {
		return f, err
	}
	if err := purge(ctx, m, id, p); err != nil {
		return f, err
	}
	if in.keys == nil {
		f.Unasked = append(f.Unasked, fmt.Sprintf("%v: what else names the record", ErrNoKeys))
		return f, nil
	}
	f.Traces, f.Keys, err = in.traces(ctx, words, p)
	return f, err
}

// purge erases a record, once no change of it is under way.
func purge(ctx context.Context, m model, id string, p Pace) error {
	pace := p.begin("forget", "seconds of waiting for changes under way", 0)
	for {
		err := m.Purge(ctx, id)
		if !errors.Is(err, kvmodel.ErrNotYet) || !kv.Sleep(ctx, time.Second) || pace.did(ctx, 1, "") != nil {
			return err
		}
	}
}

// Traces returns where the id of a record and its unique values stand, without changing
// anything.
func (in *Inspector) Traces(ctx context.Context, name, id string, p Pace) ([]Trace, error) {
	m, err := in.model(name)
	if err != nil {
		return nil, err
	}
	words, err := in.namesOf(ctx, m, id)
	if err != nil {
		return nil, err
	}
	all, _, err := in.traces(ctx, words, p)
	return all, err
}

// word is a text by which a record may be named.
type word struct{ what, text string }

// namesOf returns the id of a record and its unique values. Those of one that was deleted are
// in its tombstone, for an hour.
func (in *Inspector) namesOf(ctx context.Context, m model, id string) ([]word, error) {
	words := []word{{"its id", id}}
	if plain, err := kv.SplitText(id, 1+strings.Count(id, ":")); err == nil && len(plain) == 1 && plain[0] != id {
		words = append(words, word{"its id", plain[0]})
	}
	sights, err := m.See(ctx, in.store, []string{id})
	if err != nil {
		return nil, err
	}
	for i, w := range m.windows {
		if w.Kind() != "unique" {
			continue
		}
		places := sights[0].Places[i]
		if env := sights[0].Envelope; env != nil {
			for _, t := range env.Lost {
				if t.Index == w.Name() {
					places = t.Places
				}
			}
		}
		for _, place := range places {
			words = append(words, word{"its " + w.Name(), place})
			if plain, err := kv.SplitText(place, 1); err == nil && plain[0] != place {
				words = append(words, word{"its " + w.Name(), plain[0]})
			}
		}
	}
	return words, nil
}

// tracesKept is how many traces are named.
const tracesKept = 1000

// traces goes through all keys and values, and returns how many these are.
func (in *Inspector) traces(ctx context.Context, words []word, p Pace) (all []Trace, searched int64, err error) {
	pace := p.begin("forget", "keys", 0)
	err = in.eachKey(ctx, "", func(keys []string) error {
		results, err := kv.GetAll(ctx, in.store, keys...)
		if err != nil {
			return err
		}
		for i, key := range keys {
			for _, w := range words {
				if len(all) < tracesKept && results[i].Err == nil && (stands([]byte(key), w.text) || stands(results[i].Value, w.text)) {
					o := in.owner(key)
					all = append(all, Trace{key, strings.Trim(o.name+"."+o.part, "."), w.what})
					break
				}
			}
		}
		searched += int64(len(keys))
		return pace.did(ctx, len(keys), "")
	})
	return all, searched, err
}

// stands reports whether word stands in data: a key, or a value as it is stored. An id such as
// 7 is a part of many other texts, so it counts only where a text begins or ends, or a
// character that is in no word.
func stands(data []byte, word string) bool {
	if word == "" || !bytes.Contains(data, []byte(word)) {
		return false
	}
	if isIn(data, word) {
		return true
	}
	for at := range data {
		if slices.ContainsFunc(textsAt(data[at:]), func(text []byte) bool { return isIn(text, word) }) {
			return true
		}
	}
	return false
}

// isIn reports whether word is in text, and not as a part of a longer word.
func isIn(text []byte, word string) bool {
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(word))
		if at < 0 {
			return false
		}
		at += from
		end := at + len(word)
		if (at == 0 || !isWord(text[at-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		from = at + 1
	}
}

// textsAt returns the texts that data may begin with. The length of one stands before it, and
// may look like a letter: as msgpack has it, or as a number before the text of an id or a
// place. In a timeline it is that of an entry, which has two numbers before the id.
func textsAt(data []byte) (texts [][]byte) {
	if text := msgpackAt(data); len(text) > 0 && utf8.Valid(text) {
		texts = append(texts, text)
	}
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return texts
	}
	text := data[n : n+int(size)]
	for numbers := 0; !isPlain(text); numbers++ {
		if _, n = binary.Uvarint(text); n <= 0 || numbers == 2 {
			return texts
		}
		text = text[n:]
	}
	return append(texts, text)
}

// isPlain reports whether text may be that of an id or a place, in which spaces, for one, are
// escaped.
func isPlain(text []byte) bool {
	return !slices.ContainsFunc(text, func(c byte) bool { return c <= ' ' || c > '~' })
}

// msgpackAt returns the text that data begins with as msgpack has it, nil if it does not.
func msgpackAt(data []byte) []byte {
	size, head := 0, 1
	switch c := data[0]; {
	case c&0xe0 == 0xa0:
		size = int(c & 0x1f)
	case c >= 0xd9 && c <= 0xdb:
		head += 1 << (c - 0xd9)
		if len(data) < head {
			return nil
		}
		for _, b := range data[1:head] {
			size = size<<8 | int(b)
		}
	}
	if size > len(data)-head {
		return nil
	}
	return data[head : head+size]
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.'
}
