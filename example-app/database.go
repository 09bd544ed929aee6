package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func openStore(ctx context.Context, set settings) (kv.Store, error) {
	store, err := kvopen.Store(ctx, set.store, rediskv.Engine.With("near", "64MB"), memcachekv.Engine)
	if err == nil && set.demo > 0 && set.kind() == "mem" {
		store = kvfault.SingleKeys(store) // The demo can kill a writer, and shows the effect as on a server.
	}
	if err != nil || set.tenant == "" {
		return store, err
	}
	part, err := kv.Prefix(store, set.tenant)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-tenant %q: %w", set.tenant, err), store.Close())
	}
	return part, nil
}

// A short outage does not end furnish.
func furnish(ctx context.Context, store kv.Store, set settings, out io.Writer) {
	if set.demo == 0 {
		return
	}
	password := set.demoPassword()
	made, err := demo.Fill(ctx, kv.Retry(store, 5, 100*time.Millisecond), demo.Plan{Pages: set.demo, Password: password})
	if made > 0 {
		fmt.Fprintf(out, "example-app: made %d demo pages\n", made)
	}
	fmt.Fprintf(out, "example-app: log in as heron or any other demo member, with the password %s\n", password)
	if err != nil {
		fmt.Fprintln(out, "example-app: the demo is incomplete:", err)
	}
}

// An empty id is nobody.
func admin(ctx context.Context, app *ashiato.Site, handle string) (id string, err error) {
	if handle == "" {
		return "", nil
	}
	m, err := app.Find(ctx, handle)
	if err != nil {
		return "", fmt.Errorf("-admin %s: %w", handle, err)
	}
	return m.ID, nil
}

func database(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) int {
	return inspect.Run(ctx, inspect.Config{
		Name: command, Args: args, URL: storeIn(defaultData),
		Models: func(db *kvmodel.DB) []kvmodel.Model { return ashiato.NewSite(db, guard.HashCost{}).Models.All() },
		Stdin:  in, Stdout: out, Stderr: errs,
	})
}
