// Command example-app serves the sample app, Ashiato: a small community that
// keeps its members and their pages in a key-value store alone. Here it is only
// wired; package ashiato is the domain, package web what visitors see.
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
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

// drain is how long the end waits, once for requests and once for what is still
// to be written.
const drain = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := command(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "example-app:", err)
		os.Exit(1)
	}
}

// command does what args ask for.
func command(ctx context.Context, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "load" {
		return load(ctx, args[1:], out)
	}
	return run(ctx, args, out)
}

// run serves until ctx ends, then lets the requests that have begun end, and
// what is done after the reply.
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
	kind, _, _ := strings.Cut(set.store, ":")
	app := ashiato.NewSite(db, ashiato.Options{})
	site, err := web.New(app, web.Config{Keys: secrets.session, Development: !set.secure, Kind: kind, Tenant: set.tenant})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "example-app: on http://%s/ with a %s store; end it with Ctrl-C\n", listener.Addr(), kind)
	if err := serve(ctx, listener, site, site.Close); err != nil {
		return err
	}
	fmt.Fprintln(out, "example-app: ended")
	return nil
}

// openStore opens the store, and the tenant's part of it.
func openStore(ctx context.Context, set settings) (kvmodel.Store, error) {
	store, err := kvopen.Store(ctx, set.store)
	if err != nil || set.tenant == "" {
		return store, err
	}
	part, err := kvmodel.Prefix(store, set.tenant)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-tenant %q: %w", set.tenant, err), store.Close())
	}
	return part, nil
}

// furnish makes the demo pages that are not there yet, trying a request that a
// store could not take again. Without them the app works as well, and a store
// that is down may come back, so an error is only reported.
func furnish(ctx context.Context, store kvmodel.Store, pages int, password string, out io.Writer) {
	shown := time.Now()
	made, err := demo.Fill(ctx, kv.Retry(store, 3, 100*time.Millisecond), demo.Plan{Pages: pages, Password: password, Progress: func(there int) {
		if time.Since(shown) > time.Second {
			shown = time.Now()
			fmt.Fprintf(out, "example-app: %d of %d demo pages\n", there, pages)
		}
	}})
	if made > 0 {
		fmt.Fprintf(out, "example-app: made %d demo pages\n", made)
	}
	if err != nil {
		fmt.Fprintln(out, "example-app: not all of the demo could be made:", err)
	}
	if pages > 0 {
		fmt.Fprintf(out, "example-app: log in as heron, or any other demo member, with the password %s\n", password)
	}
}

// listen refuses addresses that other machines can reach: whoever runs the
// sample app wants to look at it, not to publish it.
func listen(addr string) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("-addr %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("-addr %q: only this machine may reach it: use 127.0.0.1:PORT", addr)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("-addr %s is in use; -addr 127.0.0.1:0 takes any free port", addr)
	}
	return listener, err
}

// serve serves until ctx ends; then it calls end, for what would otherwise not
// end by itself.
func serve(ctx context.Context, listener net.Listener, handler http.Handler, end func()) error {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      30 * time.Second,
		MaxHeaderBytes:    64 << 10,
	}
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
