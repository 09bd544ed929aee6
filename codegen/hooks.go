package codegen

import "go/types"

// hooks are the methods that the library looks for on a model.
var hooks = []struct {
	methodShape
	form string // as a message shows it
}{
	{methodShape{"Upgrade", "int", "error"}, "func(from int) error"},
	{methodShape{"Validate", "", "error"}, "func() error"},
}

// checkHooks reports methods that the library would look for in vain.
func (b *builder) checkHooks() {
	methods := types.NewMethodSet(types.NewPointer(b.model.Type))
	for _, hook := range hooks {
		m := methods.Lookup(b.source.types, hook.name)
		if m != nil && !hook.fits(m.Obj().(*types.Func)) {
			b.at(m.Obj().Pos(), "%s of %s has to be %s to be called by the library", hook.name, b.model.Name, hook.form)
		}
	}
}
