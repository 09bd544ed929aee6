// Package storeurl parses addresses and options of store URLs. Its errors name the fault and the
// valid form, and show no password.
package storeurl

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

type Address struct {
	User, Password string
	Hosts          []string // each HOST:PORT, without duplicates
	Path           string   // after the hosts, without the slash
}

// ParseAddress splits //USER:PASSWORD@HOST:PORT,HOST:PORT/PATH. The default host is this machine.
func ParseAddress(rest, port string) (Address, error) {
	rest, ok := strings.CutPrefix(rest, "//")
	if !ok {
		return Address{}, errors.New("two slashes must follow the colon")
	}
	var a Address
	// A password may contain a slash: only the part after the last @ is an address.
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := a.logIn(rest[:at]); err != nil {
			return Address{}, err
		}
		rest = rest[at+1:]
	}
	hosts, path, _ := strings.Cut(rest, "/")
	a.Path = path
	if hosts == "" {
		hosts = "127.0.0.1"
	}
	for _, text := range strings.Split(hosts, ",") {
		host, err := hostPort(text, port)
		if err != nil {
			return Address{}, fmt.Errorf("host %q: %w", text, err)
		}
		if slices.Contains(a.Hosts, host) {
			return Address{}, fmt.Errorf("host %q is given twice", text)
		}
		a.Hosts = append(a.Hosts, host)
	}
	return a, nil
}

func (a *Address) logIn(text string) error {
	user, password, _ := strings.Cut(text, ":")
	var errUser, errPassword error
	a.User, errUser = url.PathUnescape(user)
	a.Password, errPassword = url.PathUnescape(password)
	if errUser != nil || errPassword != nil {
		// The original errors show a part of the password.
		return errors.New("user name or password: write % as %25")
	}
	return nil
}

func hostPort(text, port string) (string, error) {
	host := text
	if colon := strings.LastIndexByte(text, ':'); colon >= 0 && !strings.HasSuffix(text, "]") {
		host, port = text[:colon], text[colon+1:]
	}
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		host = strings.TrimSuffix(inner, "]")
	}
	if strings.Contains(host, ":") != bracketed {
		return "", errors.New("it is not HOST:PORT; write an IPv6 address as [::1]:PORT")
	}
	if host == "" {
		return "", errors.New("the name is missing")
	}
	if i := strings.IndexFunc(host, notInHost); i >= 0 {
		return "", fmt.Errorf("it contains %q", host[i])
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q is not in 1..65535", port)
	}
	if bracketed {
		host = "[" + host + "]"
	}
	return host + ":" + port, nil
}

func notInHost(c rune) bool {
	return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune(".-_:%", c))
}

// Options are the options of one URL. The caller asks for each by name, once; then Check knows all
// valid names and the first error.
type Options struct {
	given url.Values
	known []string
	forms []string // as name=form
	err   error
}

func New(given url.Values) *Options { return &Options{given: given} }

// Check returns an error for an unknown or repeated option, or an invalid value.
func (o *Options) Check() error {
	for _, name := range slices.Sorted(maps.Keys(o.given)) {
		if !slices.Contains(o.known, name) {
			return fmt.Errorf("unknown option %q%s; %s", name, Suggest(name, o.known), o.list())
		}
		if len(o.given[name]) > 1 {
			return fmt.Errorf("option %s is given %d times", name, len(o.given[name]))
		}
	}
	return o.err
}

func (o *Options) list() string {
	if len(o.known) == 0 {
		return "this kind of store has no options"
	}
	return "the options are " + strings.Join(o.forms, ", ")
}

func (o *Options) Text(name, form string) (string, bool) {
	o.known = append(o.known, name)
	o.forms = append(o.forms, name+"="+form)
	return o.given.Get(name), o.given.Has(name)
}

func (o *Options) Bad(name, value, form string) {
	if o.err == nil {
		o.err = fmt.Errorf("option %s=%s: it must be %s", name, value, form)
	}
}

// Number returns a number in low..high, or 0 if it is not given.
func (o *Options) Number(name string, low, high int) int {
	form := fmt.Sprintf("%d..%d", low, high)
	text, ok := o.Text(name, form)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		o.Bad(name, text, "a number in "+form)
		return 0
	}
	return n
}

// Duration returns a duration above 0, or 0 if it is not given.
func (o *Options) Duration(name string) time.Duration {
	text, ok := o.Text(name, "DURATION")
	if !ok {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		o.Bad(name, text, "a duration above 0 such as 500ms")
		return 0
	}
	return d
}

// Choice returns the index in names of the value, or 0 if it is not given.
func (o *Options) Choice(name string, names ...string) int {
	form := strings.Join(names, "|")
	text, ok := o.Text(name, form)
	if !ok {
		return 0
	}
	i := slices.Index(names, text)
	if i < 0 {
		o.Bad(name, text, "one of "+form)
		return 0
	}
	return i
}

// Suggest returns ": did you mean NAME?" for a likely misspelling of one of names, otherwise "".
func Suggest(text string, names []string) string {
	best, least := "", 3
	for _, name := range names {
		if d := distance(text, name); d < least && d < len(name) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Keep returns s with a cache if opts ask for one, or closes s.
func Keep(s kv.Store, opts nearkv.Options) (kv.Store, error) {
	if opts.Bytes == 0 {
		return s, nil
	}
	near, err := nearkv.New(s, opts)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return near, nil
}

// Near returns the value of the option near: 0, or a size such as 64MB, optionally followed by a
// comma and the maximum age of an answer. With aged, for stores that report no changes, the age is
// required.
func (o *Options) Near(form string, aged bool) (opts nearkv.Options) {
	text, ok := o.Text("near", form)
	if !ok || text == "0" {
		return opts
	}
	size, age, hasAge := strings.Cut(text, ",")
	bytes, sizeErr := parseSize(size)
	d, ageErr := time.ParseDuration(age)
	switch {
	case sizeErr != nil:
		o.Bad("near", text, "0 or "+sizeErr.Error())
	case aged && !hasAge:
		o.Bad("near", text, "a size and how old an answer may be, such as 64MB,500ms, since no one tells what has changed")
	case hasAge && (ageErr != nil || d <= 0):
		o.Bad("near", text, "a size and how old an answer may be, such as 64MB,500ms")
	default:
		opts = nearkv.Options{Bytes: bytes, Age: d}
	}
	return opts
}

// Cache returns the value of the option cache: 0 if it is not given, and -1 for no cache.
func (o *Options) Cache() int {
	text, ok := o.Text("cache", "SIZE")
	switch {
	case !ok:
		return 0
	case text == "0":
		return -1
	}
	bytes, err := parseSize(text)
	if err != nil {
		o.Bad("cache", text, "0 or "+err.Error())
	}
	return bytes
}

const (
	leastNear = 1
	mostNear  = 1 << 20
)

func parseSize(text string) (int, error) {
	number, ok := strings.CutSuffix(text, "MB")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < leastNear || n > mostNear {
		return 0, fmt.Errorf("a size of %dMB to %dMB, such as 64MB", leastNear, mostNear)
	}
	return n << 20, nil
}
