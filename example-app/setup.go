package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// openStore opens the store, or the tenant's part of it if there is a tenant.
func openStore(ctx context.Context, set settings) (kvmodel.Store, error) {
	store, err := kvopen.Store(ctx, set.store, rediskv.Engine.With("near", "64MB"), memcachekv.Engine)
	if err != nil || set.tenant == "" {
		return store, err
	}
	part, err := kvmodel.Prefix(store, set.tenant)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-tenant %q: %w", set.tenant, err), store.Close())
	}
	return part, nil
}

// furnish makes the demo pages that do not exist yet. It retries what the store
// did not carry out, so a short outage does not end the demo.
func furnish(ctx context.Context, store kvmodel.Store, set settings, out io.Writer) error {
	if set.demo == 0 {
		return nil
	}
	password := set.demoPassword()
	made, err := demo.Fill(ctx, kv.Retry(store, 5, 100*time.Millisecond), demo.Plan{Pages: set.demo, Password: password})
	fmt.Fprintf(out, "example-app: made %d demo pages; log in as heron or any other demo member, with the password %s\n", made, password)
	return err
}

// admin returns the id of the member who may look into the database; "" is nobody.
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

// serve serves until ctx ends. Then it ends the streams and waits for the other requests.
func serve(ctx context.Context, listener net.Listener, site *web.Site) error {
	server := guard.Server(site)
	server.RegisterOnShutdown(site.Close)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	return within(ctx, server.Shutdown)
}

// drain limits how long the shutdown waits for requests, and then again for
// pending writes.
const drain = 5 * time.Second

// within ends something that ctx has ended.
func within(ctx context.Context, end func(context.Context) error) error {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return end(limit)
}
