// Boltcompact rewrites boltkv stores without their unused space.
//
//	boltcompact FILE...
//
// The files must not be open. Boltcompact writes each new file beside the old
// one and then replaces that, so a crash leaves one or the other. It stops at
// the first file that fails.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

func main() {
	if len(os.Args) < 2 || os.Args[1] == "-h" || os.Args[1] == "-help" || os.Args[1] == "--help" {
		fmt.Fprintln(os.Stderr, "usage: boltcompact FILE...\nrewrites closed boltkv stores without their unused space")
		os.Exit(2)
	}
	if err := compactAll(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "boltcompact:", err)
		os.Exit(1)
	}
}

func compactAll(out io.Writer, paths []string) error {
	for _, path := range paths {
		done, err := boltkv.Compact(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d bytes, were %d\n", path, done.After, done.Before)
	}
	return nil
}
