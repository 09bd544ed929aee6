package codegen

import "go/types"

func emitCodec(r *reporter, named *types.Named, names *imports) (value, decls string) {
	return names.runtime("kvmodel") + ".Codec[" + named.Obj().Name() + "]{}", ""
}
