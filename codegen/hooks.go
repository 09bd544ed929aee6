package codegen

import (
	"go/types"
	"maps"
	"slices"
)

// hooks are the methods that the library looks for on a model.
var hooks = map[string]string{
	"Validate": "func() error",
	"Upgrade":  "func(from int) error",
}

// checkHooks reports methods that the library would look for in vain.
func (b *builder) checkHooks() {
	methods := types.NewMethodSet(types.NewPointer(b.model.Type))
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		want, m := hooks[name], methods.Lookup(b.source.types, name)
		if m == nil {
			continue
		}
		if got := m.Obj().(*types.Func).Signature(); !sameShape(got, want) {
			b.at(m.Obj().Pos(), "%s of %s has to be %s to be called by the library", name, b.model.Name, want)
		}
	}
}

// sameShape reports whether sig is want, whatever its parameters are called.
func sameShape(sig *types.Signature, want string) bool {
	if sig.Results().Len() != 1 || sig.Results().At(0).Type().String() != "error" {
		return false
	}
	if want == "func() error" {
		return sig.Params().Len() == 0
	}
	return sig.Params().Len() == 1 && types.Identical(sig.Params().At(0).Type(), types.Typ[types.Int])
}
