package emit

import (
	"bytes"
	"fmt"
	"go/format"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

// Program returns the command name, in dir of the module, which inspects databases with the models
// of p.
func Program(p *model.Package, name, dir string) ([]byte, error) {
	names := newImports(p.Types, map[string]bool{"main": true, "db": true})
	inspect, kvmodel := names.runtime("inspect"), names.runtime("kvmodel")
	models := names.add(p.Path, p.Name)
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Command %s looks into the app's database: go run %s help\npackage main\n\n%s\n", name, dir, names.decl())
	fmt.Fprintf(&b, "func main() {\n%s.Main(func(db *%s.DB) []%[2]s.Model { return %s.New(db).All() })\n}\n", inspect, kvmodel, models)
	return format.Source(b.Bytes())
}
