package codegen

import (
	"errors"
	"go/types"
)

// newCodecEmitter returns what writes the codecs of p's models.
func (p *Package) newCodecEmitter(r *reporter, names *imports) codecEmitter {
	set := newCodecSet(p.source.types, names, codecOptions{
		model: func(t *types.TypeName) bool {
			return t.Pkg() == p.source.types && p.source.draft(t.Name()) != nil
		},
	})
	return func(model *types.Named) (value, decls string) {
		code, err := set.emit(model)
		var faults codecErrors
		if errors.As(err, &faults) {
			for _, fault := range faults {
				r.at(fault.pos, "%s", fault.msg)
			}
		}
		return "&" + set.codecName(model), string(code)
	}
}
