package codegen

import (
	"fmt"
	"go/token"
	"go/types"
)

// newCodecEmitter returns what writes the codecs of p's models.
func (p *Package) newCodecEmitter(r *reporter, names *imports) codecEmitter {
	return func(model *types.Named) (value, decls string) {
		c := storeCheck{r, model.Obj().Pkg(), p.marshals, map[types.Type]bool{}}
		c.check(model, model.Obj().Pos(), model.Obj().Name())
		return fmt.Sprintf("%s.Codec[%s]{}", names.runtime("kvmodel"), model.Obj().Name()), ""
	}
}

// A storeCheck looks for types that have no stored form.
type storeCheck struct {
	*reporter
	pkg      *types.Package
	marshals func(types.Type) bool
	seen     map[types.Type]bool
}

// check reports at pos that what, of type t, cannot be stored, if that is so.
func (c storeCheck) check(t types.Type, pos token.Pos, what string) {
	if c.seen[t] || c.marshals(t) || isTimestamp(t) {
		return
	}
	if _, named := t.(*types.Named); named {
		c.seen[t] = true
	}
	switch u := t.Underlying().(type) {
	case *types.Chan, *types.Signature, *types.Interface:
		c.at(pos, "%s cannot be stored: leave it out with `kv:\"-\"`, or give its type EncodeMsgpack and DecodeMsgpack", what)
	case *types.Struct:
		c.fields(u, pos, what)
	case *types.Map:
		c.check(u.Key(), pos, what)
		c.check(u.Elem(), pos, what)
	case interface{ Elem() types.Type }: // pointers, slices and arrays
		c.check(u.Elem(), pos, what)
	}
}

// fields checks the fields of s; fields of the package at hand are places of their own.
func (c storeCheck) fields(s *types.Struct, pos token.Pos, what string) {
	for i := range s.NumFields() {
		f := s.Field(i)
		if f.Pkg() == c.pkg {
			pos = f.Pos()
		}
		if stored(f, s.Tag(i)) {
			c.check(f.Type(), pos, what+"."+f.Name())
		}
	}
}
