package kvopen

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// parse splits a URL into its scheme, the rest, and its options. Its errors show no part that could
// be a password.
func parse(text string, engines []kv.Engine) (s kv.Scheme, rest string, options url.Values, err error) {
	schemes := slices.Concat(append([]kv.Engine{own}, engines...)...)
	name, rest, ok := strings.Cut(text, ":")
	if !ok || !isName(name) {
		return s, "", nil, fmt.Errorf("not a store URL: it must start with one of %s", forms(schemes))
	}
	if s, err = find(name, schemes); err != nil {
		return s, "", nil, err
	}
	rest, query, _ := strings.Cut(rest, "?")
	if strings.Contains(query, "@") {
		return s, "", nil, fmt.Errorf("%s URL: an @ after the question mark; write ? in a password as %%3F", name)
	}
	options, err = url.ParseQuery(query)
	if err != nil {
		// The error may contain a part of a password.
		return s, "", nil, fmt.Errorf("%s URL: options: write %% as %%25 and ; as %%3B", name)
	}
	return s, rest, options, nil
}

func isName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return strings.Trim(name, letters+"0123456789+.-") == "" && strings.IndexAny(name, letters) == 0
}

// missing are the schemes of this module's engines.
var missing = []struct{ backend, scheme, form string }{
	{"memcachekv", "memcached", "memcached://HOST:PORT,HOST:PORT"},
	{"rediskv", "redis", "redis://USER:PASSWORD@HOST:PORT/DB"},
	{"rediskv", "redis-cluster", "redis-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT"},
	{"rediskv", "redis-sentinel", "redis-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB"},
	{"rediskv", "rediss", "rediss://USER:PASSWORD@HOST:PORT/DB"},
	{"rediskv", "rediss-cluster", "rediss-cluster://USER:PASSWORD@HOST:PORT,HOST:PORT"},
	{"rediskv", "rediss-sentinel", "rediss-sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER/DB"},
}

func find(name string, schemes []kv.Scheme) (kv.Scheme, error) {
	var names []string
	for _, s := range schemes {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	for _, m := range missing {
		if m.scheme == name {
			return kv.Scheme{}, fmt.Errorf("%s URL: the program has no engine for it: import %q and give %s.Engine to Open or Store, or all.Engines of %q",
				name, "github.com/ringtree/ringtree/kvmodel/"+m.backend, m.backend, "github.com/ringtree/ringtree/kvmodel/kvopen/all")
		}
		names = append(names, m.scheme)
	}
	return kv.Scheme{}, fmt.Errorf("unknown scheme %q%s; a store URL is one of %s", name, storeurl.Suggest(name, names), forms(schemes))
}

func forms(schemes []kv.Scheme) string {
	var all []string
	for _, s := range schemes {
		all = append(all, s.Form)
	}
	for _, m := range missing {
		if !slices.Contains(all, m.form) {
			all = append(all, m.form)
		}
	}
	return strings.Join(all, ", ")
}
