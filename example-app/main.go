// Command example-app is the place of the sample app, which is not built yet.
// Until it is, it serves one page that says so and that counts its visits in
// a store, so that the store can be seen at work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

const (
	defaultStore = "bolt:example-app/data/app.db"
	defaultAddr  = "127.0.0.1:8080"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "example-app:", err)
		os.Exit(1)
	}
}

type settings struct{ addr, store string }

// run serves until ctx ends, and then lets the requests that have begun end.
func run(ctx context.Context, args []string, out io.Writer) error {
	set, err := parse(args, out)
	if err != nil {
		return err
	}
	store, err := kvopen.Store(ctx, set.store)
	if err != nil {
		return err
	}
	defer store.Close()
	listener, err := listen(set.addr)
	if err != nil {
		return err
	}
	kind, _, _ := strings.Cut(set.store, ":")
	fmt.Fprintf(out, "example-app: on http://%s/ with a %s store; end it with Ctrl-C\n", listener.Addr(), kind)
	if err := serve(ctx, listener, newPage(store, kind)); err != nil {
		return err
	}
	fmt.Fprintln(out, "example-app: ended")
	return store.Close()
}

func parse(args []string, out io.Writer) (settings, error) {
	var set settings
	flags := flag.NewFlagSet("example-app", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&set.addr, "addr", defaultAddr, "loopback `HOST:PORT` to listen on; port 0 is any free one")
	flags.StringVar(&set.store, "store", defaultStore, "`URL` of the store: see docs/stores.md")
	if err := flags.Parse(args); err != nil {
		return set, err
	}
	if flags.NArg() > 0 {
		return set, fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	}
	return set, nil
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

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Shutdown(limit)
}
