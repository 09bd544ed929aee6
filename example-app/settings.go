package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

const (
	command     = "example-app db"
	defaultData = "example-app/data"

	// keyVariable is not a flag because everybody on the machine can read flags.
	keyVariable = "ASHIATO_SESSION_KEY"
)

// The values of -after-loss.
const (
	accept = "accept"
	refuse = "refuse"
)

type settings struct {
	addr, data, store string
	tenant            string // the prefix of all keys; empty for none
	demo, crowd       int
	secure            bool
	admin             string // the handle of the member with access to the database pages
	afterLoss         string // accept or refuse
	key               []byte // signs sessions
}

const usage = `Usage: example-app [flags]      serve the sample app
       example-app db VERB      look into its database; db help lists the verbs

The key that signs sessions is made at the first start and kept in the data directory, unless
the environment variable ` + keyVariable + ` sets it, as 64 hex digits.

Flags:
`

func parse(args []string, out io.Writer) (set settings, err error) {
	flags := flag.NewFlagSet("example-app", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&set.addr, "addr", "127.0.0.1:8080", "`HOST:PORT` to listen on; port 0 means any free one")
	flags.StringVar(&set.data, "data", defaultData, "`DIR` for the session key, and for the store unless -store names another")
	flags.StringVar(&set.store, "store", "", "`URL` of the store, as in docs/deploying.md (default bolt:DIR/app.db)")
	flags.StringVar(&set.tenant, "tenant", "", "begin all keys with `NAME`, to share the store with others")
	flags.BoolVar(&set.secure, "secure", false, "for use behind a TLS proxy: send cookies over https only and do not show what pages cost")
	flags.StringVar(&set.admin, "admin", "", "let the member `HANDLE`, who has signed up, look into the database, at /inspect")
	flags.StringVar(&set.afterLoss, "after-loss", "", "what to do when the store has lost data: `WHAT` is refuse, to wait for an operator, or accept, to rebuild what is left (default refuse, and accept on memcached)")
	flags.IntVar(&set.demo, "demo", 400, "make sure that the first `N` demo pages exist; 0 for none")
	flags.IntVar(&set.crowd, "crowd", 3, "have `N` visitors use the demo; 0 for none")
	if err := flags.Parse(args); err != nil {
		return set, err
	}
	set.store = cmp.Or(set.store, storeIn(set.data))
	if set.afterLoss == "" && set.kind() == "memcached" { // Memcached can lose anything at any time.
		set.afterLoss = accept
	}
	set.afterLoss = cmp.Or(set.afterLoss, refuse)
	switch {
	case flags.Arg(0) == "db":
		return set, fmt.Errorf("db comes first, before all flags: %s --store %s %s", command, set.store, strings.Join(flags.Args()[1:], " "))
	case flags.NArg() > 0:
		return set, fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	case set.demo < 0 || set.crowd < 0:
		return set, fmt.Errorf("-demo %d -crowd %d: want 0 or more", set.demo, set.crowd)
	case set.afterLoss != accept && set.afterLoss != refuse:
		return set, fmt.Errorf("-after-loss %s: want %s or %s", set.afterLoss, accept, refuse)
	}
	set.key, err = sessionKey(set.data)
	return set, err
}

func storeIn(data string) string { return "bolt:" + filepath.Join(data, "app.db") }

func (s settings) kind() string {
	kind, _, _ := strings.Cut(s.store, ":")
	return kind
}

func sessionKey(data string) ([]byte, error) {
	text := os.Getenv(keyVariable)
	if text == "" {
		if err := os.MkdirAll(data, 0o700); err != nil {
			return nil, err
		}
		return kvsession.KeyIn(filepath.Join(data, "session.key"))
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != sha256.Size {
		return nil, fmt.Errorf("the session key in %s: want %d hex digits", keyVariable, 2*sha256.Size)
	}
	return key, nil
}

// listen warns if other machines can reach the app without TLS.
func (s settings) listen() (net.Listener, error) {
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		return nil, fmt.Errorf("-addr %q: %w", s.addr, err)
	}
	if tcp, ok := listener.Addr().(*net.TCPAddr); !s.secure && ok && !tcp.IP.IsLoopback() {
		slog.Warn("other machines can reach the app without encryption: use -secure behind a TLS proxy", "addr", tcp)
	}
	return listener, nil
}

// demoPassword does not reveal the key.
func (s settings) demoPassword() string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte("the password of the demo members"))
	return strings.ToLower(base32.StdEncoding.EncodeToString(mac.Sum(nil)[:10]))
}
