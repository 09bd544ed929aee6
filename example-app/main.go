// Command example-app serves the sample app, Ashiato: a small community that
// keeps its members and their pages in nothing but a key-value store. This package
// only wires it up: package ashiato is the domain, and package web is what
// visitors see.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// drain limits how long the shutdown waits for requests, and then again for
// pending writes.
const drain = 5 * time.Second

// How often furnish sends an operation, and how long it waits after the first
// try. Every further wait is twice as long, which makes about 1.5 seconds in all.
const (
	furnishTries = 5
	furnishPause = 100 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "db" {
		os.Exit(database(ctx, os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	err := command(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "example-app:", err)
		os.Exit(1)
	}
}

// command runs the command that args name: to serve, if they name none.
func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "load" {
		return load(ctx, args[1:], out)
	}
	return run(ctx, args, out)
}

// run serves until ctx ends. Then it finishes the requests under way and the work
// that they left for after their replies.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	set, err := parse(args, out)
	if err != nil {
		return err
	}
	secrets, err := openSecrets(set)
	if err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: set.log})))
	store, err := openStore(ctx, set)
	if err != nil {
		return err
	}
	furnish(ctx, store, set.demo, secrets.demo, out)
	db, err := kvmodel.Open(store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	defer func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
		defer cancel()
		err = errors.Join(err, db.Close(limit))
	}()
	listener, err := listen(set.addr)
	if err != nil {
		return err
	}
	if !set.secure && !isLoopback(listener.Addr()) {
		slog.Warn("other machines can reach the app, and what they send is not encrypted: use -secure behind a proxy that speaks TLS", "addr", listener.Addr())
	}
	kind, _, _ := strings.Cut(set.store, ":")
	app := ashiato.NewSite(db, ashiato.Options{})
	defer serveDatabase(ctx, db, set.store)()
	rec := inspect.Recover(ctx, db, inspect.RecoverOptions{Accept: set.afterLoss == accept})
	defer rec.Stop()
	site, err := web.New(app, web.Config{
		Keys: secrets.session, Development: !set.secure, Kind: kind, Tenant: set.tenant, Recovery: rec, Token: set.token,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "example-app: on http://%s/ with a %s store; stop it with Ctrl-C\n", listener.Addr(), kind)
	handler := http.Handler(site)
	if set.inspect {
		door, err := newDoor(db, set.secure)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "example-app: look into its database, once, at http://%s%s\n", listener.Addr(), door.address())
		handler = door.beside(site)
	}
	if err := serve(ctx, listener, handler, site.Close); err != nil {
		return err
	}
	fmt.Fprintln(out, "example-app: stopped")
	return nil
}

// openStore opens the store, or the tenant's part of it if there is a tenant.
func openStore(ctx context.Context, set settings) (kvmodel.Store, error) {
	store, err := kvopen.Store(ctx, set.store, all.Engines)
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
// did not carry out, so a short outage does not end the demo. After a longer one
// the app runs without some of the pages: it does not need them, and the store
// may come back.
func furnish(ctx context.Context, store kvmodel.Store, pages int, password string, out io.Writer) {
	shown := time.Now()
	made, err := demo.Fill(ctx, kv.Retry(store, furnishTries, furnishPause), demo.Plan{Pages: pages, Password: password, Progress: func(there int) {
		if time.Since(shown) > time.Second {
			shown = time.Now()
			fmt.Fprintf(out, "example-app: %d of %d demo pages\n", there, pages)
		}
	}})
	if made > 0 {
		fmt.Fprintf(out, "example-app: made %d demo pages\n", made)
	}
	if err != nil {
		fmt.Fprintln(out, "example-app: the demo is incomplete:", err)
	}
	if pages > 0 {
		fmt.Fprintf(out, "example-app: log in as heron or any other demo member, with the password %s\n", password)
	}
}

func listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("-addr %s is in use; use 127.0.0.1:0 for any free port", addr)
	case err != nil:
		return nil, fmt.Errorf("-addr %q: %w", addr, err)
	}
	return listener, nil
}

// isLoopback reports whether this machine alone can reach addr.
func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// serve serves until ctx ends. Then it calls end, which has to end the requests
// that would otherwise go on, and waits for all of them.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, end func()) error {
	server := guard.Server(handler)
	server.RegisterOnShutdown(end)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	return server.Shutdown(limit)
}
