package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Trace is a place with remaining data of a record.
type Trace struct {
	Key   string
	Owner string // MODEL.PART
	Field string // of that record or event, "" if outside of fields
	What  string // "its id", "its ByEmail"
}

// Forgotten is the result of erasing a record.
type Forgotten struct {
	Model, ID string
	Traces    []Trace  // the first 1,000
	Keys      int64    // searched keys, with their values
	Unasked   []string // searches that could not be made, and why

	shown  []string // its unique values that are not private
	hidden []string // the indexes of its private unique values
}

// Forget erases a record with its history, tombstone, counters and index entries, after its pending
// changes, as Records.Purge. Then it searches all keys and decoded fields of the store for its id,
// its unique values and more, but not binary data or parts of longer words. Pass the unique values
// as more to search again: by then, they are unknown.
func (in *Inspector) Forget(ctx context.Context, name, id string, p Pace, more ...string) (f Forgotten, err error) {
	f = Forgotten{Model: name, ID: id}
	m, words, err := in.namesOf(ctx, name, id, more)
	if err != nil {
		return f, err
	}
	for _, w := range words {
		switch {
		case w.private:
			f.hidden = append(f.hidden, w.index)
		case w.index != "":
			f.shown = append(f.shown, w.text)
		}
	}
	if err := purge(ctx, m, id, p); err != nil {
		return f, err
	}
	if in.keys == nil {
		f.Unasked = append(f.Unasked, fmt.Sprintf("%v: other places that name the record", ErrNoKeys))
		return f, nil
	}
	f.Traces, f.Keys, err = in.traces(ctx, words, p)
	return f, err
}

func purge(ctx context.Context, m model, id string, p Pace) error {
	pace := p.begin("forget", "seconds of waiting for changes under way", 0)
	for {
		err := m.Purge(ctx, id)
		if !errors.Is(err, kvmodel.ErrNotYet) || !kv.Sleep(ctx, time.Second) || pace.did(ctx, 1, "") != nil {
			return err
		}
	}
}

// Traces searches for a record's id, its unique values and more, and changes nothing.
func (in *Inspector) Traces(ctx context.Context, name, id string, p Pace, more ...string) ([]Trace, error) {
	_, words, err := in.namesOf(ctx, name, id, more)
	if err != nil {
		return nil, err
	}
	all, _, err := in.traces(ctx, words, p)
	return all, err
}

type word struct {
	what, text string
	index      string // the unique index with this value, "" for an id
	private    bool

	// of keys that contain its hash
	keys []string
}

// A number or a text in parts may be stored in another form.
func (w *word) isVerbatim() bool {
	_, err := strconv.ParseFloat(w.text, 64)
	_, isBool := strconv.ParseBool(w.text)
	return err != nil && isBool != nil && !strings.Contains(w.text, ":")
}

func (in *Inspector) namesOf(ctx context.Context, name, id string, more []string) (m model, words []word, err error) {
	if m, err = in.model(name); err != nil {
		return m, nil, err
	}
	words = in.wordsOf(word{what: "its id", text: id})
	for _, text := range more {
		words = append(words, in.wordsOf(word{what: kv.Quote(text), text: kv.JoinText(text)})...)
		words = append(words, in.wordsOf(word{what: kv.Quote(text), text: text})...)
	}
	sights, err := m.See(ctx, in.store, []string{id})
	if err != nil {
		return m, nil, err
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
		for _, place := range plug.Bares(places) {
			words = append(words, in.wordsOf(word{what: "its " + w.Name(), text: place, index: w.Name(), private: isHidden(&m, w)})...)
		}
	}
	return m, words, nil
}

func (in *Inspector) wordsOf(w word) []word {
	for i := range in.models {
		m := &in.models[i]
		keys := []string{m.Key(w.text), m.HistoryKey(w.text)}
		for _, counter := range m.Counters() {
			keys = append(keys, m.CounterKey(counter, w.text))
		}
		for _, window := range m.windows {
			keys = append(keys, window.Bases(w.text)...)
		}
		w.keys = append(w.keys, slices.DeleteFunc(keys, func(key string) bool { return !kv.IsHashed(key) })...)
	}
	if plain, err := kv.SplitText(w.text, 1); err == nil && plain[0] != w.text {
		return []word{w, {what: w.what, text: plain[0], index: w.index, private: w.private}}
	}
	return []word{w}
}

const tracesKept = 1000

func (in *Inspector) traces(ctx context.Context, words []word, p Pace) (all []Trace, searched int64, err error) {
	pace := p.begin("forget", "keys", 0)
	err = in.scan(ctx, pace, "", nil, func(found []stored) error {
		for _, at := range found {
			if len(all) < tracesKept {
				all = append(all, in.tracesAt(at.key, at.value, words)...)
			}
		}
		return nil
	})
	return all, pace.step.Done, err
}

func (in *Inspector) tracesAt(key string, value []byte, words []word) (all []Trace) {
	o := in.owner(key)
	found := func(field string, w word) {
		all = append(all, Trace{Key: key, Owner: strings.Trim(o.name+"."+o.part, "."), Field: field, What: w.what})
	}
	for _, w := range words {
		if names(nameIn(key), w.text) || slices.ContainsFunc(w.keys, func(begin string) bool { return strings.HasPrefix(key, begin) }) {
			found("", w)
			return all
		}
	}
	if !slices.ContainsFunc(words, func(w word) bool { return !w.isVerbatim() || bytes.Contains(value, []byte(w.text)) }) {
		return nil
	}
	named := make(map[string]bool)
	for _, said := range in.said(o, key, value) {
		for _, w := range words {
			if !named[said.field] && names(said.text, w.text) {
				named[said.field] = true
				found(said.field, w)
			}
		}
	}
	return all
}

// nameIn omits the class and the number of a segment.
func nameIn(key string) string {
	_, name, _ := strings.Cut(key, ":")
	if kv.IsHashed(key) {
		return name
	}
	name, _, _ = strings.Cut(name, "#")
	return name
}

func (in *Inspector) said(o owner, key string, value []byte) (all []said) {
	add := func(texts []string, bodies [][]byte) {
		for _, text := range texts {
			if text != "" {
				all = append(all, said{text: text})
			}
		}
		for _, body := range bodies {
			some, _ := saidIn(body)
			all = append(all, some...)
		}
	}
	switch {
	case classes[o.class].nameless || o.class == "n" || o.class == "c" || o.class == "per": // Numbers.
		return nil
	case o.class == "r" && o.model != nil:
		s := o.model.Decode("", value)
		add([]string{s.ID}, nil)
		if s.Envelope != nil {
			add(nil, [][]byte{s.Envelope.Body})
			for _, t := range s.Envelope.Lost {
				add(t.Places, nil)
			}
		}
	case o.class == "h" && o.model != nil:
		add(nil, o.model.Earlier(value))
	case o.class == "ids":
		add(memberlog.Members(value), nil)
	case o.class == "session":
		add(nil, [][]byte{value})
	case o.window != nil:
		add(o.window.Said(key, value))
	}
	if len(all) == 0 {
		for _, text := range textsIn(value) {
			all = append(all, said{text: text})
		}
	}
	return all
}

// names reports whether word is in text, which may be escaped.
func names(text, word string) bool {
	if isIn(text, word) {
		return true
	}
	if !strings.Contains(text, "%") {
		return false
	}
	plain, err := kv.SplitText(text, 1+strings.Count(text, ":"))
	return err == nil && isIn(strings.Join(plain, ":"), word)
}

// isIn reports whether word is in text on its own: the id 7 is a part of many longer words.
func isIn(text, word string) bool {
	for from := 0; word != ""; {
		at := strings.Index(text[from:], word)
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
	return false
}

// textsIn returns all texts in a value of unknown format that may be preceded by their length.
func textsIn(value []byte) (texts []string) {
	if isText(value) {
		return []string{string(value)}
	}
	for at := range value {
		if text := msgpackAt(value[at:]); len(text) > 0 && utf8.Valid(text) {
			texts = append(texts, string(text))
		}
		size, n := binary.Uvarint(value[at:])
		if begin := at + n; n > 0 && size > 0 && size <= uint64(len(value)-begin) && isText(value[begin:begin+int(size)]) {
			texts = append(texts, string(value[begin:begin+int(size)]))
		}
	}
	return texts
}

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

// said is a text in a stored item. Other values have their form in keys.
type said struct {
	field string // of a record, "" if outside of fields
	text  string
}

// saidIn returns the texts in a msgpack map; an array or a map in it is also one text, like an id.
func saidIn(body []byte) ([]said, error) {
	w := walker{d: msgpack.NewDecoder(bytes.NewReader(body))}
	n, err := w.d.DecodeMapLen()
	for i := 0; i < n && err == nil; i++ {
		if w.field, err = w.d.DecodeString(); err == nil {
			_, err = w.value(0)
		}
	}
	return w.all, err
}

type walker struct {
	d     *msgpack.Decoder
	field string
	all   []said
}

const deepest = 1000

func (w *walker) value(depth int) (text string, err error) {
	if depth > deepest {
		return "", errors.New("values are nested too deeply")
	}
	c, err := w.d.PeekCode()
	switch {
	case err != nil:
		return "", err
	case msgpcode.IsFixedMap(c) || c == msgpcode.Map16 || c == msgpcode.Map32:
		n, err := w.d.DecodeMapLen()
		return "", w.values(2*n, depth, true, err)
	case msgpcode.IsFixedArray(c) || c == msgpcode.Array16 || c == msgpcode.Array32:
		n, err := w.d.DecodeArrayLen()
		return "", w.values(n, depth, false, err)
	case msgpcode.IsString(c):
		text, err = w.d.DecodeString()
	case msgpcode.IsBin(c):
		var data []byte
		data, err = w.d.DecodeBytes()
		text = string(data)
	case msgpcode.IsExt(c):
		text, err = w.extension()
	default:
		var v any
		if v, err = w.d.DecodeInterfaceLoose(); v != nil {
			text = fmt.Sprint(v)
		}
	}
	if text != "" {
		w.all = append(w.all, said{w.field, text})
	}
	return text, err
}

func (w *walker) values(n, depth int, isMap bool, err error) error {
	var parts []string
	for i := 0; i < n && err == nil; i++ {
		var text string
		if text, err = w.value(depth + 1); !isMap || i%2 == 1 {
			parts = append(parts, text)
		}
	}
	if len(parts) > 1 {
		w.all = append(w.all, said{w.field, kv.JoinText(parts...)})
	}
	return err
}

func (w *walker) extension() (string, error) {
	raw, err := w.d.DecodeRaw()
	var at time.Time
	if err == nil && msgpack.Unmarshal(raw, &at) == nil {
		return at.UTC().Format(time.RFC3339Nano), nil
	}
	return strings.ToValidUTF8(string(raw), " "), err
}
