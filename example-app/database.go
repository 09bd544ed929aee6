package main

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
)

// database looks into the database of the app, or does what else its operator asks for, and
// returns the exit code.
func database(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return inspect.Run(ctx, inspect.Config{
		Name: command, Args: args, URL: storeIn(defaultData),
		Models: func(db *kvmodel.DB) []kvmodel.Model { return ashiato.NewSite(db, ashiato.Options{}).Models.All() },
		Stdin:  in, Stdout: out, Stderr: errs,
	})
}

// serveDatabase takes the verbs of database while the app runs, if its store is a file: no
// other process can open that then. The app goes on without them if it cannot.
func serveDatabase(ctx context.Context, db *kvmodel.DB, store string) (stop func()) {
	rest, isFile := strings.CutPrefix(store, "bolt:")
	if !isFile {
		return func() {}
	}
	path, _, _ := strings.Cut(rest, "?")
	end, err := inspect.Serve(ctx, db, path)
	if err != nil {
		slog.Warn("db VERB does not work while the app runs", "err", err)
		return func() {}
	}
	slog.Info("db VERB works while the app runs", "store", "bolt:"+path)
	return func() {
		if err := end(); err != nil {
			slog.Warn("the socket for db VERB was not closed well", "err", err)
		}
	}
}
