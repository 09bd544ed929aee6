package built

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Edition is an edition of the store. Accepting the loss of a server's memory ends one: knowledge
// from it is void in the next.
type Edition struct{ number, id uint64 }

func (b *Item) Edition() (e Edition) {
	e.number, e.id = kv.EditionOf(b.losses)
	return e
}

func (e Edition) text() string {
	if e.number <= 1 {
		return ""
	}
	return fmt.Sprintf("%s%d.%x", saysEdition, e.number, e.id)
}

type state struct {
	def   string
	token string // of its build; "" if it is complete
}

// leaving is the token of an index that is not complete but may still be in use by readers.
const leaving = "leaving"

const (
	saysBegins   = "#begins"
	saysBegun    = "#begun"
	saysEdition  = "@"
	saysWhole    = " whole"
	saysBuilding = " building "
)

func (s state) encode() string {
	if s.token != "" {
		return s.def + saysBuilding + s.token
	}
	return s.def + saysWhole
}

func decodeState(text string) (s state, ok bool) {
	if def, ok := strings.CutSuffix(text, saysWhole); ok {
		return state{def: def}, true
	}
	i := strings.LastIndex(text, saysBuilding)
	if i < 0 {
		return s, false
	}
	s = state{def: text[:i], token: text[i+len(saysBuilding):]}
	return s, s.token != ""
}

func encode(begins bool, in Edition, indexes []state) []byte {
	indexes = slices.Clone(indexes)
	slices.SortFunc(indexes, func(a, b state) int { return strings.Compare(a.def, b.def) })
	texts := []string{saysBegun}
	if begins {
		texts[0] = saysBegins
	}
	if text := in.text(); text != "" {
		texts = append(texts, text)
	}
	for _, s := range indexes {
		texts = append(texts, s.encode())
	}
	return frame.Twice(wire.AppendTexts(nil, texts))
}

func (v *view) decode(data []byte) error {
	v.begins, v.of, v.indexes = false, "", nil
	data, torn := frame.Either(data)
	if data == nil {
		return torn
	}
	v.torn = torn != nil
	texts, err := wire.ReadTexts(data, "index")
	if err != nil {
		return err
	}
	r := wire.Reader{Rest: data}
	if len(texts) == 0 {
		r.Fail("state of the model")
	}
	for i, text := range texts {
		switch {
		case i == 0 && (text == saysBegins || text == saysBegun):
			v.begins = text == saysBegins
		case i == 0:
			r.Fail("state of the model")
		case i == 1 && strings.HasPrefix(text, saysEdition):
			v.of = text
		default:
			s, ok := decodeState(text)
			if !ok {
				r.Fail("state of an index")
			}
			v.indexes = append(v.indexes, s)
		}
	}
	return r.Err
}

func allWhole(defs []string) []state {
	var indexes []state
	for _, def := range defs {
		indexes = append(indexes, state{def: def})
	}
	return indexes
}

func wholeOf(indexes []state) (defs []string) {
	for _, s := range indexes {
		if s.token == "" {
			defs = append(defs, s.def)
		}
	}
	return defs
}

func buildingOf(indexes []state) (defs []string) {
	for _, s := range indexes {
		if s.token != "" && s.token != leaving {
			defs = append(defs, s.def)
		}
	}
	return defs
}

func at(indexes []state, def string) int {
	return slices.IndexFunc(indexes, func(s state) bool { return s.def == def })
}
