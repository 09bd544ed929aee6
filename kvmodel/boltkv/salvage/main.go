// Salvage makes a new boltkv store of what can be read of a damaged one.
//
//	salvage FROM TO
//
// FROM must not be open, and stays as it is. There must be nothing at TO. Salvage lists what
// it could not read, and ends with status 3 if there is anything.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

func main() {
	if len(os.Args) != 3 || os.Args[1] == "" || os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, "usage: salvage FROM TO\nmakes a new boltkv store of what can be read of a damaged one")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	found, err := boltkv.Salvage(ctx, os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, "salvage:", err)
		os.Exit(1)
	}
	report(os.Stdout, found)
	if !found.OK() {
		os.Exit(3)
	}
}

// report writes what was found.
func report(to io.Writer, found boltkv.Salvaged) {
	for _, what := range append(found.Pages, found.Logs...) {
		fmt.Fprintln(to, what)
	}
	for _, key := range found.Damaged {
		fmt.Fprintf(to, "damaged: %q\n", key)
	}
	missing := fmt.Sprint(found.Missing)
	if found.Missing < 0 {
		missing = "an unknown number of"
	}
	fmt.Fprintf(to, "%d items salvaged, %d damaged, %s missing\n", found.Items, len(found.Damaged), missing)
}
