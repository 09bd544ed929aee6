package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/bench/costs"
)

var conduitFigures = []func(*bench) error{conduitLines, conduitTrips}

// conduitLines reports how many lines of the example declare its data, and how many keep
// derived data in step.
func conduitLines(b *bench) error {
	dir, err := b.goCommand("list", "-f", "{{.Dir}}", "./examples/conduit")
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(string(bytes.TrimSpace(dir)), "*.go"))
	if err != nil {
		return err
	}
	models, upkeep := 0, 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "kv.go") {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		upkeep += upkeepLines(set, parsed)
		if filepath.Base(file) == "models.go" {
			models = codeLines(set, parsed)
		}
	}
	b.report("conduit: lines of its models", float64(models), atMost(60))
	b.report("conduit: lines of upkeep", float64(upkeep), exactly(0))
	return nil
}

// codeLines returns how many lines of a file have code, without the package clause and the
// imports.
func codeLines(set *token.FileSet, file *ast.File) int {
	lines := map[int]bool{}
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.Comment, *ast.CommentGroup:
				return false
			case nil:
				return true
			}
			lines[set.Position(n.Pos()).Line] = true
			lines[set.Position(n.End()-1).Line] = true
			return true
		})
	}
	return len(lines)
}

// writing is the verbs that change records.
var writing = map[string]bool{
	"Create": true, "CreateMulti": true, "Put": true, "PutMulti": true, "Update": true, "UpdateMulti": true,
	"Upsert": true, "Delete": true, "DeleteMulti": true, "Purge": true,
	"Hit": true, "Add": true, "Set": true, "Push": true, "Remove": true,
}

// upkeepLines returns how many lines of a file keep derived data in step: each handler of
// changes, and in a function each call that writes records of a model besides those of the
// first. A function that does what one endpoint asks for writes one kind of record.
func upkeepLines(set *token.FileSet, file *ast.File) (lines int) {
	for _, decl := range file.Decls {
		first := ""
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			model, verb := writes(call)
			switch {
			case verb == "OnChange":
				lines += 1 + set.Position(call.End()).Line - set.Position(call.Pos()).Line
			case writing[verb] && first != "" && model != first:
				lines += 1 + set.Position(call.End()).Line - set.Position(call.Pos()).Line
			case writing[verb] && first == "":
				first = model
			}
			return true
		})
	}
	return lines
}

// writes returns the model and the verb of a call of a data class, as in a.m.Users.Create;
// "" if it is none.
func writes(call *ast.CallExpr) (model, verb string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	names := []string{f.Sel.Name}
	for at := f.X; ; {
		s, ok := at.(*ast.SelectorExpr)
		if !ok {
			break
		}
		names = append(names, s.Sel.Name)
		at = s.X
	}
	// From the verb back to the field m of the app.
	for i, name := range names {
		if name == "m" && i > 0 {
			return names[i-1], names[0]
		}
	}
	return "", ""
}

// conduitTrips reports what the endpoints of the example cost on a server, and in the file.
func conduitTrips(b *bench) error {
	rows, err := costs.MeasureApp(b.ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		what := strings.TrimSpace(fmt.Sprint("conduit: ", r.Endpoint, " ", r.With))
		b.report(what+": trips", float64(r.Costs[costs.OnRedis].Again.Trips), atMost(float64(r.Most)))
		b.report(what+": trips with something new", float64(r.Costs[costs.OnRedis].New.Trips), atMost(float64(cmp.Or(r.New, r.Most))))
		if !r.Reads {
			b.report(what+": commits of a file", float64(r.Costs[costs.OnFile].Commits), exactly(1))
		}
	}
	return nil
}
