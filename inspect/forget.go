package inspect

import (
	"bytes"
	"context"
	"fmt"
	"strings"

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
	Unasked   []string // where was not looked
}

// Forget erases a record: it, its history, its tombstone and its counters, and its id in all
// indexes and in the ids of the model. Then it looks for what still names the record, in the
// keys and the values of the whole store: a record of another model that refers to it, an
// event, a session. What stands in backups, exports and shipped logs it cannot see.
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
	if err := m.Purge(ctx, id); err != nil {
		return f, err
	}
	if in.keys == nil {
		f.Unasked = append(f.Unasked, fmt.Sprintf("%v: what else names the record", ErrNoKeys))
		return f, nil
	}
	f.Traces, err = in.traces(ctx, words, p)
	return f, err
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
	return in.traces(ctx, words, p)
}

// word is a text by which a record may be named.
type word struct{ what, text string }

// namesOf returns the id of a record and its unique values.
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
		for _, place := range sights[0].Places[i] {
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

// traces goes through all keys and values.
func (in *Inspector) traces(ctx context.Context, words []word, p Pace) (all []Trace, err error) {
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
		return pace.did(ctx, len(keys), "")
	})
	return all, err
}

// stands reports whether text stands in data as a word of its own: an id such as 7 is part of
// many others.
func stands(data []byte, text string) bool {
	for from := 0; ; {
		at := bytes.Index(data[from:], []byte(text))
		if at < 0 || text == "" {
			return false
		}
		at += from
		end := at + len(text)
		if (at == 0 || !isWord(data[at-1])) && (end == len(data) || !isWord(data[end])) {
			return true
		}
		// In msgpack the length of a text stands before it, and may look like a letter.
		if at > 0 && int(data[at-1]) == 0xa0|len(text) {
			return true
		}
		from = at + 1
	}
}

func isWord(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-' || b == '.'
}
