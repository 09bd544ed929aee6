package kvopen

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func TestOpen_AStoreHoldsWhatItIsGivenAndAFileKeepsIt(t *testing.T) {
	file := "bolt:" + filepath.Join(t.TempDir(), "new", "app.db") + "?durability=unsynced"
	for i, url := range []string{"mem:", file, file} {
		s, err := Store(t.Context(), url)
		must(t, err)
		n, err := kv.Next(t.Context(), s, "n", 0, 1)
		if want := int64(max(i, 1)); err != nil || n != want {
			t.Errorf("%s: count: want %d, got %d, %v", url, want, n, err)
		}
		must(t, s.Close())
	}
	db, err := Open(t.Context(), file, kvmodel.Tenant("mine"))
	must(t, err)
	if n, err := kv.Next(t.Context(), db.Store(), "n", 0, 1); err != nil || n != 1 {
		t.Errorf("a tenant's count: want 1, got %d, %v", n, err)
	}
	must(t, db.Close(t.Context()))
}

var must = proof.Must

func TestOpen_AfterAnErrorNothingStaysOpen(t *testing.T) {
	if _, err := Open(t.Context(), "memory:"); err == nil || !strings.Contains(err.Error(), `unknown scheme "memory"`) {
		t.Errorf("want an error about the scheme, got %v", err)
	}
	url := "bolt:" + filepath.Join(t.TempDir(), "app.db")
	proof.Ends(t, kv.ErrBadKey)(Open(t.Context(), url, kvmodel.Tenant(strings.Repeat("x", 300))))
	// The file is locked while it is open.
	db, err := Open(t.Context(), url)
	must(t, err)
	must(t, db.Close(t.Context()))
}

func TestStore_WrongURLSaysWhatIsWrong(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct{ url, want string }{
		{"", "must start with one of mem:, "},
		{"app.db", "must start with one of mem:, "},
		{"://x", "must start with one of mem:, "},
		{"MEM:", "must start with one of mem:, "},
		{"sqlite:app.db", `unknown scheme "sqlite"; a store URL is one of mem:, `},
		{"memcache://a", `unknown scheme "memcache": did you mean memcached?`},
		{"mem:x", "mem URL: nothing may follow the colon"},
		{"mem:?size=1", `mem URL: unknown option "size"; this kind of store has no options`},
		{"mem:?a=%zz", "mem URL: options: write % as %25 and ; as %3B"},

		{"bolt:", "bolt URL: the file's path is missing"},
		{"bolt://app.db", "bolt URL: a path does not begin with two slashes"},
		{"bolt:" + folder, "bolt URL: boltkv: open " + folder},
		{"bolt:app.db?durable=synced", `unknown option "durable"; the options are durability=synced|periodic|unsynced, cache=SIZE, ship=DIR`},
		{"bolt:app.db?durability=none", "option durability=none: it must be one of synced|periodic|unsynced"},
		{"bold:app.db", `unknown scheme "bold": did you mean bolt?`},

		{"memcached:h:1", "memcached URL: two slashes must follow the colon"},
		{"memcached://h:port", `host "h:port": port "port" is not in 1..65535`},
		{"memcached://h:0", `host "h:0": port "0" is not in 1..65535`},
		{"memcached://h:65536", `host "h:65536": port "65536" is not in 1..65535`},
		{"memcached://h:1:2", `host "h:1:2": it is not HOST:PORT`},
		{"memcached://::1", `host "::1": it is not HOST:PORT`},
		{"memcached://a,,b", `host "": the name is missing`},
		{"memcached://:11211", `host ":11211": the name is missing`},
		{"memcached://a b", `host "a b": it contains ' '`},
		{"memcached://h,h:11211", `host "h:11211" is given twice`},
		{"memcached://h/0", "memcached URL: only options may follow the hosts"},
		{"memcached://u@h", "memcached URL: memcached has no users and passwords"},
		{"memcached://h?timout=1s", `unknown option "timout": did you mean timeout?; the options are timeout=DURATION, conns=1..10000, pipeline=all|writes, volatile=off|on, near=SIZE,AGE`},
		{"memcached://h?timeout=1s&timeout=2s", "option timeout is given 2 times"},
		{"memcached://h?timeout=1", "option timeout=1: it must be a duration above 0 such as 500ms"},
		{"memcached://h?timeout=-1s", "option timeout=-1s: it must be a duration above 0"},
		{"memcached://h?conns=many", "option conns=many: it must be a number in 1..10000"},
		{"memcached://h?pipeline=reads", "option pipeline=reads: it must be one of all|writes"},
		{"memcached://h?conns=0", "option conns=0: it must be a number in 1..10000"},

		{"memcached://h?near=64MB", "option near=64MB: it must be a size and how old an answer may be, such as 64MB,500ms"},
		{"memcached://h?near=64,500ms", "option near=64,500ms: it must be 0 or a size of 1MB to 1048576MB, such as 64MB"},
		{"memcached://h?near=64MB,soon", "option near=64MB,soon: it must be a size and how old an answer may be, such as 64MB,500ms"},
		{"memcached://h?near=64MB,-1s", "option near=64MB,-1s: it must be a size and how old"},
		{"bolt:app.db?near=64MB", `unknown option "near"`},
		{"bolt:app.db?cache=64", `option cache=64: it must be 0 or a size of 1MB to 1048576MB, such as 64MB`},

		{"redsi://h", `unknown scheme "redsi": did you mean redis?`},
		{"redis:h", "redis URL: two slashes must follow the colon"},
		{"redis://g,h", "redis URL: it must name one server; a cluster is redis-cluster://"},
		{"redis://h/zero", `redis URL: database "zero" is not a number from 0`},
		{"redis://h/-1", `redis URL: database "-1" is not a number from 0`},
		{"redis://:%@h", "redis URL: user name or password: write % as %25"},
		{"redis://:a?b@h", "redis URL: an @ after the question mark; write ? in a password as %3F"},
		{"redis://h?pacience=1s", `unknown option "pacience": did you mean patience?; the options are durable=0|1, volatile=off|on, patience=DURATION, ` +
			"wait-replicas=0..100, wait-timeout=DURATION, near=SIZE, tls=off|on, ca=FILE, cert=FILE, key=FILE, server-name=NAME"},
		{"redis-sentinel://h/m?sentinel_password=secret", `unknown option "sentinel_password": did you mean sentinel-password?; the options are durable=0|1, `},
		{"redis-sentinel://h?sentinel-password=secret", "redis-sentinel URL: the name of the master must follow the sentinels"},
		{"redis-sentinel://h/m/x", `database "x" is not a number from 0`},
		{"redis://h?durable=yes", "option durable=yes: it must be one of 0|1"},
		{"redis://h?ca=" + folder, "ca, cert, key and server-name need TLS: write rediss://"},
		{"rediss://h?tls=off", "tls=off contradicts the scheme"},
		{"rediss://h?ca=" + folder + "/none", "option ca: open " + folder + "/none: no such file"},
		{"rediss://h?ca=kvopen.go", "option ca: kvopen.go holds no certificate in PEM"},
		{"rediss-cluster://h?cert=kvopen.go", "a certificate needs its key: cert=FILE and key=FILE go together"},
		{"rediss-cluster://h?cert=kvopen.go&key=kvopen.go", "options cert and key: tls: failed to find any PEM data"},
		{"redis://h?near=64", "option near=64: it must be 0 or a size of 1MB to 1048576MB, such as 64MB"},
		{"redis://h?near=0MB", "option near=0MB: it must be 0 or a size of 1MB"},
		{"redis://h?near=64MB,", "option near=64MB,: it must be a size and how old an answer may be, such as 64MB,500ms"},
		{"redis://h?tls=yes", "option tls=yes: it must be one of off|on"},
		{"redis-cluster://h/1", "redis-cluster URL: a cluster has no databases"},
	} {
		s, err := Store(t.Context(), test.url, all.Engines)
		if err == nil {
			t.Errorf("%s: want an error that says %q, got a store", test.url, test.want)
			s.Close()
			continue
		}
		if !strings.HasPrefix(err.Error(), "kvopen: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error that says %q, got %q", test.url, test.want, err)
		}
	}
}

func TestStore_WithoutItsEngineSaysWhatToLink(t *testing.T) {
	for _, test := range []struct{ url, path, engine string }{
		{"memcached://h", "kvmodel/memcachekv", "memcachekv.Engine"},
		{"redis://:secret@h?wait=1", "kvmodel/rediskv", "rediskv.Engine"},
		{"redis-cluster://:secret@g,h", "kvmodel/rediskv", "rediskv.Engine"},
	} {
		_, err := Store(t.Context(), test.url)
		if err == nil {
			t.Errorf("%s: want an error, got a store", test.url)
			continue
		}
		for _, want := range []string{`"github.com/ringtree/ringtree/` + test.path + `"`, test.engine, "all.Engines", "kvmodel/kvopen/all"} {
			proof.Contains(t, err.Error(), want)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", test.url, err)
		}
	}
	if _, err := Store(t.Context(), "memcached://h", rediskv.Engine); err == nil || !strings.Contains(err.Error(), "memcachekv.Engine") {
		t.Errorf("with another engine: want an error that names memcachekv.Engine, got %v", err)
	}
}

func TestMissing_IsWhatTheEnginesOpen(t *testing.T) {
	var names, forms []string
	for _, m := range missing {
		names, forms = append(names, m.scheme), append(forms, m.form)
	}
	for i, s := range all.Engines {
		if i >= len(names) || names[i] != s.Name || forms[i] != s.Form {
			t.Errorf("engine %d opens %s, as %s: missing lacks that", i, s.Name, s.Form)
		}
	}
	proof.Equal(t, len(names), len(all.Engines), "missing")
}

func TestOpen_TakesEnginesAndOptionsSideBySide(t *testing.T) {
	opened := kv.Engine{{Name: "mine", Form: "mine:", Open: func(ctx context.Context, rest string, options url.Values) (kv.Store, error) {
		if rest != "here" || options.Get("a") != "b" {
			t.Errorf("want here and a=b, got %q and %v", rest, options)
		}
		return Store(ctx, "mem:")
	}}}
	db, err := Open(t.Context(), "mine:here?a=b", kvmodel.ReadOnly(), opened)
	must(t, err)
	defer db.Close(t.Context())
	proof.Is(t, db.Writable(), kvmodel.ErrReadOnly)
	if _, err := Open(t.Context(), "yours:", opened); err == nil || !strings.Contains(err.Error(), "mine:") {
		t.Errorf("want an error that lists mine:, got %v", err)
	}
}

func FuzzStore_ErrorsHideThePassword(f *testing.F) {
	f.Add("redis://user:", "host:1/0?timeout=1s")
	f.Add("redsi://:", "host")
	f.Add("redis:", "host")
	f.Add("redis://host?x=", "")
	f.Add("redis://:a?", "host")
	f.Add("redis://:%", "host:x")
	f.Add("memcached://", "h")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, before, after string) {
		const password = "pass-of-mine"
		_, rest, options, err := parse(before+password+"@"+after, []kv.Engine{all.Engines})
		if err == nil {
			_, addressErr := storeurl.ParseAddress(rest, "1")
			err = errors.Join(addressErr, storeurl.New(options).Check())
		}
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("%s%s@%s: the error shows the password: %v", before, password, after, err)
		}
	})
}
