package inspect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are what flags say.
type options struct {
	storeURL, tenant, toTenant, resume, only, until, report, appPath string

	json, jsonl, csv, private, hex, watch, quick, yes, dry, anew, merge, replace bool

	top, rate int

	sample float64       // a part of 1; 0: it was not given
	span   time.Duration // 0: likewise
}

// option is a flag.
type option struct {
	name string
	arg  string // what follows it; "": nothing
	does string
	set  func(o *options, value string) error
}

var flags = []option{
	{"store", "URL", "the store, as docs/stores.md says; otherwise that of $" + storeVariable, text(func(o *options) *string { return &o.storeURL })},
	{"tenant", "NAME", "whose keys, where several share the store", text(func(o *options) *string { return &o.tenant })},
	{"to-tenant", "NAME", "whose keys those of the other store are, if not of the same tenant", text(func(o *options) *string { return &o.toTenant })},
	{"json", "", "write objects, one a line", given(func(o *options) *bool { return &o.json })},
	{"jsonl", "", "write tables, as objects of JSON, one a line", given(func(o *options) *bool { return &o.jsonl })},
	{"csv", "", "write tables, as CSV", given(func(o *options) *bool { return &o.csv })},
	{"private", "", "show private fields, too", given(func(o *options) *bool { return &o.private })},
	{"hex", "", "show the bytes that are stored", given(func(o *options) *bool { return &o.hex })},
	{"watch", "", "show it again every two seconds, until Ctrl-C", given(func(o *options) *bool { return &o.watch })},
	{"quick", "", "look at one record in a hundred, and at no keys", given(func(o *options) *bool { return &o.quick })},
	{"yes", "", "do not ask", given(func(o *options) *bool { return &o.yes })},
	{"dry-run", "", "say what would be done, and write nothing", given(func(o *options) *bool { return &o.dry })},
	{"again", "", "also what is built already", given(func(o *options) *bool { return &o.anew })},
	{"merge", "", "the database may have records already", given(func(o *options) *bool { return &o.merge })},
	{"replace", "", "make the database hold that, and nothing else", given(func(o *options) *bool { return &o.replace })},
	{"report", "FILE", "write down what was done", text(func(o *options) *string { return &o.report })},
	{"top", "N", "show the N largest", number(func(o *options) *int { return &o.top })},
	{"rate", "N", "look at N records or keys a second at most", number(func(o *options) *int { return &o.rate })},
	{"for", "DURATION", "for how long, such as 30s; 10s unless it is given", func(o *options, value string) (err error) {
		if o.span, err = time.ParseDuration(value); err != nil || o.span <= 0 {
			return fmt.Errorf("%q is not a duration above 0, such as 30s", value)
		}
		return nil
	}},
	{"app", "PATH", "the running app that carries this out: what it gave to inspect.Serve, where the store is no file", text(func(o *options) *string { return &o.appPath })},
	{"sample", "PERCENT", "look at so many of a hundred keys alone", percent(func(o *options) *float64 { return &o.sample })},
	{"resume", "LINE", "go on where an earlier call was stopped, which has said with what", text(func(o *options) *string { return &o.resume })},
	{"only", "NAME,...", "only these kinds of faults, or these models", text(func(o *options) *string { return &o.only })},
	{"until", "TIME", "as it was then, such as 2026-03-01T12:00:00Z", text(func(o *options) *string { return &o.until })},
}

func text(at func(*options) *string) func(*options, string) error {
	return func(o *options, value string) error {
		*at(o) = value
		return nil
	}
}

func given(at func(*options) *bool) func(*options, string) error {
	return func(o *options, value string) (err error) {
		*at(o), err = strconv.ParseBool(value)
		return err
	}
}

func number(at func(*options) *int) func(*options, string) error {
	return func(o *options, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number from 1 on", value)
		}
		*at(o) = n
		return nil
	}
}

func percent(at func(*options) *float64) func(*options, string) error {
	return func(o *options, value string) error {
		n, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		if err != nil || !(n > 0 && n <= 100) {
			return fmt.Errorf("%q is not a percentage above 0, such as 1%%", value)
		}
		*at(o) = n / 100
		return nil
	}
}

// parse reads the arguments. Flags may stand anywhere; behind "--" there are none.
func (c *call) parse() error {
	var used []string
	for args := c.Args; len(args) > 0; {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			c.args, args = append(c.args, args...), nil
		case len(arg) < 2 || arg[0] != '-':
			c.args = append(c.args, arg)
		case arg == "-h" || arg == "-help" || arg == "--help":
			c.args = append([]string{"help"}, c.args...)
		default:
			name, value, has := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			rest, err := c.flag(name, value, has, args)
			if err != nil {
				return err
			}
			args, used = rest, append(used, name)
		}
	}
	return c.choose(used)
}

// flag reads a flag, whose value may be the first of args, and returns the others.
func (c *call) flag(name, value string, has bool, args []string) ([]string, error) {
	i := slices.IndexFunc(flags, func(o option) bool { return o.name == name })
	if i < 0 {
		return nil, unknownFlag(name, flagNames())
	}
	switch o := flags[i]; {
	case has:
	case o.arg == "":
		value = "true"
	case len(args) == 0:
		return nil, fmt.Errorf("%w: --%s %s: that is missing", errCall, name, o.arg)
	default:
		value, args = args[0], args[1:]
	}
	if err := flags[i].set(&c.options, value); err != nil {
		return nil, fmt.Errorf("%w: --%s: %w", errCall, name, err)
	}
	switch {
	case name == "resume":
	case flags[i].arg == "":
		c.given = append(c.given, "--"+name)
	default:
		c.given = append(c.given, "--"+name+"="+value)
	}
	return args, nil
}

func unknownFlag(name string, known []string) error {
	var all []string
	for _, k := range known {
		all = append(all, "--"+k)
	}
	return unknown("flag", "--"+name, all)
}

func flagNames() (names []string) {
	for _, o := range flags {
		names = append(names, o.name)
	}
	return names
}

// choose finds the verb, and looks whether it takes what was given.
func (c *call) choose(used []string) error {
	if len(c.args) == 0 {
		return fmt.Errorf("%w: which verb?", errCall)
	}
	v, err := verbOf(c.args[0])
	if err != nil {
		return err
	}
	c.verb, c.args = v, c.args[1:]
	for _, name := range used {
		if !slices.Contains(v.takes(), name) {
			return fmt.Errorf("%s: %w", v.name, unknownFlag(name, v.takes()))
		}
	}
	switch {
	case len(c.args) < v.least:
		return fmt.Errorf("%w: %s takes %s", errCall, v.name, v.args)
	case len(c.args) > v.most && v.most == 0:
		return fmt.Errorf("%w: %s takes nothing, and not %q", errCall, v.name, c.args[0])
	case len(c.args) > v.most:
		return fmt.Errorf("%w: %s takes %s, and not %q as well", errCall, v.name, v.args, c.args[v.most])
	}
	return nil
}

// arg returns an argument, "" if there are not so many.
func (c *call) arg(i int) string {
	if i < len(c.args) {
		return c.args[i]
	}
	return ""
}
