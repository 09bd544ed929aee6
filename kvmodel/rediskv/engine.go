package rediskv

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// Engine opens stores on Redis and Valkey from their URLs, for package kvopen.
var Engine = kv.Engine{
	{Name: "redis", Form: "redis://USER:PASSWORD@HOST:PORT/DB", Open: opener(oneServer, false)},
	{Name: "redis-cluster", Form: "redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT", Open: opener(someNodes, false)},
	{Name: "redis-sentinel", Form: "redis-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB", Open: opener(someSentinels, false)},
	{Name: "rediss", Form: "rediss://USER:PASSWORD@HOST:PORT/DB", Open: opener(oneServer, true)},
	{Name: "rediss-cluster", Form: "rediss-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT", Open: opener(someNodes, true)},
	{Name: "rediss-sentinel", Form: "rediss-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB", Open: opener(someSentinels, true)},
}

type kind struct {
	port string

	// place sets the options in path, the part of the URL after the hosts.
	place func(opts *Options, path string) error
}

var (
	oneServer = kind{"6379", func(opts *Options, path string) (err error) {
		if len(opts.Addrs) > 1 {
			return errors.New("it must name one server; a cluster is redis-cluster://HOST:PORT,HOST:PORT")
		}
		opts.DB, err = number(path)
		return err
	}}
	someNodes = kind{"6379", func(_ *Options, path string) error {
		if path != "" {
			return errors.New("a cluster has no databases: only options may follow the hosts")
		}
		return nil
	}}
	someSentinels = kind{"26379", func(opts *Options, path string) (err error) {
		name, db, _ := strings.Cut(path, "/")
		if opts.Sentinel.Master, err = url.PathUnescape(name); err != nil || name == "" {
			return errors.New("the name of the master must follow the sentinels: redis-sentinel://HOST:PORT,HOST:PORT/MASTER")
		}
		opts.DB, err = number(db)
		return err
	}}
)

func number(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("database %q is not a number from 0", text)
	}
	return n, nil
}

func opener(k kind, secure bool) func(context.Context, string, url.Values) (kv.Store, error) {
	return func(ctx context.Context, rest string, options url.Values) (kv.Store, error) {
		opts, near, err := k.options(rest, secure, options)
		if err != nil {
			return nil, err
		}
		s, err := Open(ctx, opts)
		if err != nil {
			return nil, err
		}
		return storeurl.Keep(s, near)
	}
}

func (k kind) options(rest string, secure bool, options url.Values) (opts Options, near nearkv.Options, err error) {
	given := storeurl.New(options)
	opts = Options{
		Durable:      given.Choice("durable", "0", "1") == 1,
		Volatile:     given.Choice("volatile", "off", "on") == 1,
		Patience:     given.Duration("patience"),
		WaitReplicas: given.Number("wait-replicas", 0, 100),
		WaitTimeout:  given.Duration("wait-timeout"),
	}
	near = given.Near("SIZE", false)
	opts.Track = near.Bytes > 0 && near.Age == 0
	if k.port == someSentinels.port {
		opts.Sentinel = new(Sentinel)
		opts.Sentinel.Username, _ = given.Text("sentinel-user", "NAME")
		opts.Sentinel.Password, _ = given.Text("sentinel-password", "PASSWORD")
	}
	on := given.Choice("tls", "off", "on") == 1
	files := filesOf(given)
	if err := given.Check(); err != nil {
		return opts, near, err
	}
	if secure && options.Get("tls") == "off" {
		return opts, near, errors.New("tls=off contradicts the scheme, which is one for TLS")
	}
	if opts.TLS, err = files.config(secure || on); err != nil {
		return opts, near, err
	}
	a, err := storeurl.ParseAddress(rest, k.port)
	if err != nil {
		return opts, near, err
	}
	opts.Addrs, opts.Username, opts.Password = a.Hosts, a.User, a.Password
	return opts, near, k.place(&opts, a.Path)
}

type files struct{ ca, cert, key, name string }

func filesOf(given *storeurl.Options) (f files) {
	f.ca, _ = given.Text("ca", "FILE")
	f.cert, _ = given.Text("cert", "FILE")
	f.key, _ = given.Text("key", "FILE")
	f.name, _ = given.Text("server-name", "NAME")
	return f
}

func (f files) config(on bool) (*tls.Config, error) {
	if !on {
		if f != (files{}) {
			return nil, errors.New("ca, cert, key and server-name need TLS: write rediss://")
		}
		return nil, nil
	}
	config := &tls.Config{ServerName: f.name}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("option ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("option ca: %s holds no certificate in PEM", f.ca)
		}
	}
	if f.cert == "" && f.key == "" {
		return config, nil
	}
	if f.cert == "" || f.key == "" {
		return nil, errors.New("a certificate needs its key: cert=FILE and key=FILE go together")
	}
	own, err := tls.LoadX509KeyPair(f.cert, f.key)
	if err != nil {
		return nil, fmt.Errorf("options cert and key: %w", err)
	}
	config.Certificates = []tls.Certificate{own}
	return config, nil
}
