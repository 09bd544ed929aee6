package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
)

const (
	defaultAddr = "127.0.0.1:8080"
	defaultData = "example-app/data"
	defaultDemo = 400

	// keyVariable names the variable of the environment that a session key may
	// come in: a flag could be read by everybody on the machine.
	keyVariable = "ASHIATO_SESSION_KEY"
)

type settings struct {
	addr, data, store string
	tenant            string // what all keys begin with; empty: nothing
	demo              int
	secure            bool
	log               slog.Level
	key               string // signs sessions, in hex; empty: the one that is kept in data
}

const usage = `Usage: example-app [flags]         serve the sample app
       example-app load [flags]    send visitors to one that runs; load -h lists its flags

Flags:
`

// parse reads the flags of the command that serves.
func parse(args []string, out io.Writer) (settings, error) {
	set := settings{key: os.Getenv(keyVariable)}
	flags := flag.NewFlagSet("example-app", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
		fmt.Fprintf(out, "\nThe key that signs sessions is made at the first start and kept in the data\ndirectory, unless it is given in the variable %s, as 64 digits of hex.\n", keyVariable)
	}
	flags.StringVar(&set.addr, "addr", defaultAddr, "loopback `HOST:PORT` to listen on; port 0 is any free one")
	flags.StringVar(&set.data, "data", defaultData, "`DIR` of what is kept: secrets, and the store unless -store says another")
	flags.StringVar(&set.store, "store", "", "`URL` of the store: see docs/stores.md (default bolt:DIR/app.db)")
	flags.StringVar(&set.tenant, "tenant", "", "`NAME` that all keys begin with, where others use the store as well")
	flags.BoolVar(&set.secure, "secure", false, "run behind a proxy that speaks TLS: cookies go over https alone, and pages do not tell their cost")
	flags.TextVar(&set.log, "log", slog.LevelInfo, "`LEVEL` of what is logged: debug is every request, then info, warn, error")
	flags.IntVar(&set.demo, "demo", defaultDemo, "make sure that the first `N` demo pages exist; 0 makes none")
	if err := flags.Parse(args); err != nil {
		return set, err
	}
	if flags.NArg() > 0 {
		return set, fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	}
	if set.demo < 0 {
		return set, fmt.Errorf("-demo %d: want 0 or more", set.demo)
	}
	if set.store == "" {
		set.store = "bolt:" + filepath.Join(set.data, "app.db")
	}
	return set, nil
}
