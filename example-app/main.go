// Command example-app serves the sample app, Ashiato. This package wires it up; ashiato is the
// domain, and web serves the pages.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "db" {
		os.Exit(database(ctx, os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "example-app:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and then finishes pending requests and their deferred work.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	set, err := parse(args, out)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, set)
	if err != nil {
		return err
	}
	furnish(ctx, store, set, out)
	db, err := kvmodel.Open(store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	defer func() { err = errors.Join(err, within(ctx, db.Close)) }()
	app := ashiato.NewSite(db, guard.HashCost{})
	defer inspect.Serve(ctx, db, set.store)() // db VERB works while the app runs.
	config := web.Config{Keys: [][]byte{set.key}, Development: !set.secure, Kind: set.kind(), Tenant: set.tenant, Command: command}
	config.Recovery = inspect.Recover(ctx, db, inspect.RecoverOptions{Accept: set.afterLoss == accept})
	defer config.Recovery.Stop()
	if set.demo > 0 {
		config.Kill = func(ctx context.Context) (string, error) { return demo.KillWriter(ctx, store) }
	}
	if config.Admin, err = admin(ctx, app, set.admin); err != nil {
		return err
	}
	site, err := web.New(app, config)
	if err != nil {
		return err
	}
	listener, err := set.listen()
	if err != nil {
		return err
	}
	if set.demo > 0 {
		defer demo.Crowd(ctx, app, set.crowd)()
	}
	fmt.Fprintf(out, "example-app: on http://%s/ with a %s store; stop it with Ctrl-C\n", listener.Addr(), set.kind())
	return serve(ctx, listener, site)
}

// serve ends the streams, and waits for other requests.
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

func within(ctx context.Context, end func(context.Context) error) error {
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return end(limit)
}
