package stored

import (
	"go/token"
	"go/types"
)

// Private returns the stored names, also older ones, of fields of the record t that are private or
// have private fields within.
func (s *Forms) Private(t types.Type) []string {
	var names []string
	for _, f := range s.Fields(t, t.Underlying().(*types.Struct), "", token.NoPos) {
		if f.private || holdsPrivate(f.Type, map[types.Type]bool{}) {
			names = append(names, f.Names...)
		}
	}
	return names
}

func holdsPrivate(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			f, tag := u.Field(i), u.Tag(i)
			if InRecord(f, tag) && (Says(tag, "private") || holdsPrivate(f.Type(), seen)) {
				return true
			}
		}
	case *types.Map:
		return holdsPrivate(u.Key(), seen) || holdsPrivate(u.Elem(), seen)
	case interface{ Elem() types.Type }:
		return holdsPrivate(u.Elem(), seen)
	}
	return false
}
