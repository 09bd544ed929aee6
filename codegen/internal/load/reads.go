package load

import (
	"go/ast"
	"slices"
)

// Reads returns the names that a method selects from its receiver, also by other methods. sure is
// false if it may read any field: the receiver is used in another way, or a body is missing. Bodies
// need not compile.
func (s *Source) Reads(name, method string) (names []string, sure bool) {
	r := reading{bodies: s.Methods(name)}
	sure = r.method(method)
	return r.names, sure
}

type reading struct {
	bodies map[string]*ast.FuncDecl
	names  []string
	seen   []string
}

func (r *reading) method(name string) (sure bool) {
	fn := r.bodies[name]
	if fn == nil || fn.Body == nil {
		return false
	}
	if slices.Contains(r.seen, name) {
		return true
	}
	r.seen = append(r.seen, name)
	if len(fn.Recv.List[0].Names) == 0 {
		return true
	}
	return r.body(fn.Body, fn.Recv.List[0].Names[0].Name)
}

func (r *reading) body(body ast.Node, receiver string) (sure bool) {
	sure = true
	ast.Inspect(body, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.SelectorExpr:
			if !isReceiver(n.X, receiver) {
				sure = r.body(n.X, receiver) && sure // not its Sel, which may have the receiver's name
				return false
			}
			if r.bodies[n.Sel.Name] != nil {
				sure = r.method(n.Sel.Name) && sure
			} else if !slices.Contains(r.names, n.Sel.Name) {
				r.names = append(r.names, n.Sel.Name)
			}
			return false
		case *ast.Ident:
			// It is used as a whole, or another variable hides it.
			sure = sure && n.Name != receiver
		}
		return true
	})
	return sure
}

func isReceiver(x ast.Expr, receiver string) bool {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return isReceiver(x.X, receiver)
	case *ast.StarExpr:
		return isReceiver(x.X, receiver)
	case *ast.Ident:
		return x.Name == receiver
	}
	return false
}
