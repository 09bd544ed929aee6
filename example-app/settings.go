package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

const (
	defaultAddr = "127.0.0.1:8080"
	defaultData = "example-app/data"
	defaultDemo = 400

	// keyVariable is the environment variable for a session key. It is not a flag
	// because everybody on the machine can read those.
	keyVariable = "ASHIATO_SESSION_KEY"

	// tokenVariable is the one for the token that metrics are shown for.
	tokenVariable = "ASHIATO_METRICS_TOKEN"
)

type settings struct {
	addr, data, store string
	tenant            string // the prefix of all keys; empty for none
	demo              int
	secure            bool
	inspect           bool // show the database at a secret address
	log               slog.Level
	key               string // signs sessions, in hex; empty for the one kept in data
	token             string // shows metrics to other machines; empty for none
	afterLoss         string // accept or refuse
}

const usage = `Usage: example-app [flags]         serve the sample app
       example-app load [flags]    send visitors to a running one; load -h lists its flags
       example-app db VERB         look into its database; db help lists the verbs

Flags:
`

// parse reads the flags for serving.
func parse(args []string, out io.Writer) (settings, error) {
	set := settings{key: os.Getenv(keyVariable), token: os.Getenv(tokenVariable)}
	flags := flag.NewFlagSet("example-app", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
		fmt.Fprintf(out, "\nThe key that signs sessions is made at the first start and kept in the data\ndirectory, unless the environment variable %s sets it, as 64 hex digits.\nWho has the token in %s gets /metrics, and why /healthz says what it says, from\nother machines too.\n", keyVariable, tokenVariable)
	}
	flags.StringVar(&set.addr, "addr", defaultAddr, "`HOST:PORT` to listen on; port 0 means any free one")
	flags.StringVar(&set.data, "data", defaultData, "`DIR` for secrets, and for the store unless -store names another")
	flags.StringVar(&set.store, "store", "", "`URL` of the store, as in docs/stores.md (default bolt:DIR/app.db)")
	flags.StringVar(&set.tenant, "tenant", "", "begin all keys with `NAME`, to share the store with others")
	flags.BoolVar(&set.secure, "secure", false, "for use behind a TLS proxy: send cookies over https only and do not show what pages cost")
	flags.BoolVar(&set.inspect, "inspect", false, "show pages about the database, at an address that is printed")
	flags.StringVar(&set.afterLoss, "after-loss", "", "what to do when the store has lost data: `WHAT` is refuse, to wait for an operator, or accept, to rebuild what is left (default refuse, and accept on memcached)")
	flags.TextVar(&set.log, "log", slog.LevelInfo, "lowest `LEVEL` to log: debug (every request), info, warn, or error")
	flags.IntVar(&set.demo, "demo", defaultDemo, "make sure that the first `N` demo pages exist; 0 for none")
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
		set.store = storeIn(set.data)
	}
	switch set.afterLoss {
	case "":
		set.afterLoss = afterLoss(set.store)
	case accept, refuse:
	default:
		return set, fmt.Errorf("-after-loss %s: want %s or %s", set.afterLoss, accept, refuse)
	}
	return set, nil
}

// What to do when the store has lost data.
const (
	accept = "accept"
	refuse = "refuse"
)

// afterLoss returns what to do unless someone says otherwise: on memcached all can be lost
// at any time, and elsewhere someone should look at that first.
func afterLoss(store string) string {
	if strings.HasPrefix(store, "memcached:") {
		return accept
	}
	return refuse
}

// storeIn returns the URL of the store in a data directory.
func storeIn(data string) string { return "bolt:" + filepath.Join(data, "app.db") }
