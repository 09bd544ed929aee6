// Boltfolder makes boltkv stores of what was shipped to a directory.
//
//	boltfolder restore DIR TO [TIME]
//	boltfolder promote DIR PATH
//
// Restore makes a store at TO as it was at TIME, such as 2026-03-01T12:00:00Z, or as it was
// at last. Promote makes the copy at PATH, or a new one, the store that is written and
// shipped; the one that was so far takes no writes any more.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

const usage = `usage: boltfolder restore DIR TO [TIME]
       boltfolder promote DIR PATH
makes boltkv stores of what was shipped to a directory; TIME is as in 2026-03-01T12:00:00Z
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run returns the exit status: 0, 1 after an error, or 2 if args make no sense.
func run(ctx context.Context, args []string, out, errs io.Writer) int {
	var err error
	switch {
	case len(args) == 3 && args[0] == "promote":
		err = promote(ctx, args[1], args[2], out)
	case (len(args) == 3 || len(args) == 4) && args[0] == "restore":
		var until time.Time
		if len(args) == 4 {
			if until, err = time.Parse(time.RFC3339Nano, args[3]); err != nil {
				fmt.Fprintf(errs, "boltfolder: TIME %q is not as in 2026-03-01T12:00:00Z\n", args[3])
				return 2
			}
		}
		err = restore(ctx, args[1], args[2], until, out)
	default:
		fmt.Fprint(errs, usage)
		return 2
	}
	if err != nil {
		fmt.Fprintln(errs, "boltfolder:", err)
		return 1
	}
	return 0
}

func restore(ctx context.Context, dir, to string, until time.Time, out io.Writer) error {
	done, err := boltkv.Restore(ctx, boltkv.Dir(dir), until, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is the store as it was at %s: the snapshot of %s, and the commits since: %d\n",
		to, text(done.Known), text(done.Snapshot), done.Commits)
	if done.Known.Before(until) {
		fmt.Fprintf(out, "nothing that was committed later was shipped\n")
	}
	return nil
}

func promote(ctx context.Context, dir, path string, out io.Writer) error {
	done, err := boltkv.Promote(ctx, boltkv.Dir(dir), path)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is the store from now on, with all commits up to %s; ship it to %s again (term %d)\n",
		path, text(done.Last), dir, done.Term)
	return nil
}

func text(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }
