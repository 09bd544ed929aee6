package main

import (
	"context"
	"io"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
)

// database looks into the database of the app, or does what else its operator asks for, and
// returns the exit code.
func database(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return inspect.Run(ctx, inspect.Config{
		Name: "example-app db", Args: args, URL: storeIn(defaultData),
		Models: func(db *kvmodel.DB) []kvmodel.Model { return ashiato.NewSite(db, ashiato.Options{}).Models.All() },
		Stdin:  in, Stdout: out, Stderr: errs,
	})
}
