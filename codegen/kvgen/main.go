// Kvgen generates data classes for tagged structs: a page_kv.go next to each
// page.go that declares models, and one kv.go for the package.
//
// Usage:
//
//	go tool kvgen [-check | -plan | -cmd DIR] [-accept] [packages]
//	go run github.com/ringtree/ringtree/codegen/kvgen@latest new [-module NAME] [-replace CLONE] DIR
//	go tool kvgen scaffold [-owner FIELD | -anyone | -readonly] [-fields FIELD,FIELD...] MODEL
//
// Packages are named as for the go command; the default is the one in the
// working directory. Set up kvgen once with
//
//	go get -tool github.com/ringtree/ringtree/codegen/kvgen
//
// and a line in one file of each package with models, which go generate runs:
//
//	//go:generate go tool kvgen
//
// # A new site
//
// Kvgen new writes a site to the directory DIR: a model, its pages, sign-in, tests. It
// runs immediately, and the files are yours to change. In a clone of ringtree the site
// uses that clone; -replace names another.
//
// Kvgen scaffold, in the directory of such a site, adds the pages of another model of
// ./models: a form, a listing for each index, a page for each record. Only the user named in
// the field Author or Owner, or in -owner, may change a record; with -anyone every user, as in
// a wiki; with -readonly nobody. -fields selects the fields of the form. Private fields are in
// no form and on no page. Kvgen prints the fields that users can set.
//
// # Models
//
// A model is a struct, declared at the top of a file, with a kv tag:
//
//	type Page struct {
//		_     struct{} `kv:"model,version=2,if=Live"`
//		ID    string   `kv:"id"`
//		Slug  string   `kv:"unique"`
//		Trash bool
//	}
//
// It becomes the type Pages with the function NewPages, and a field in the
// package's Models, which New(db) returns. The comment of the generated type is
// the model's access plan: go doc shows it.
//
// # Tags
//
//	tag    = clause {";" clause}
//	clause = word ["=" value] {"," option}
//
// On a field:
//
//	id[,seq]             the key of the record; on two to four fields an edge, with a key type
//	unique[=Group][,for=D]
//	                     no two records have the same value; fields of one group are unique
//	                     together; for=: until D after the created time of the record
//	list[,hot=K][,values][,with=Model]
//	                     all records with a value; values: also the values themselves, with
//	                     counts, unless records expire; with=: the records are deleted with
//	                     the record of that model whose id is the value
//	timeline[,by=F][,ring=N][,segment=W][,shards=K]
//	                     the records by their last change of the field
//	ranking[,by=F][,per=hour|day|week|month][,keep=N][,order=low][,ties=newest|oldest|shared|dense]
//	       [,scale=N]    the records ordered by the field, a number or a time; on a counter, by
//	                     its number, with per= by its number in a period, of which the last N
//	                     are kept; ties= orders equal scores by the created field, or gives
//	                     them one rank
//	                     above a method, of=A,B names the counters that it reads; changes of
//	                     other counters do not move the record
//	ranking[,by=F][,order=high][,locale=L]
//	                     on a string, the records from A to Z, or with order=high from Z to A,
//	                     in the order of the language L, such as sv, or of no language
//	counter[,batch=sampled|window|every]
//	                     a number stored outside the record; batch= is when rankings follow it
//	count=Model.Field[,if=Method]
//	                     that counter is the length of the list; not for records that expire
//	sum=Model.Field,of=F[,if=Method]
//	                     that counter is the sum of F, an integer field or method, over the list
//	version              an int64: the number of the record's changes, checked by Put
//	created              a time.Time: the creation; a new record keeps a time that is set
//	updated              a time.Time: the last change
//	expires              a time.Time at which the record expires
//	private              tools that show records mask the value; it is stored as it is
//	-                    the field is not stored
//
// The last two are allowed in any struct within a record.
//
// On the field _ struct{}:
//
//	model[,name=Page][,plural=Pages][,version=N][,if=Method][,count][,history=N[,forget]][,was=Old]
//	                     count: Count returns the number of records; not if records expire
//	events,by=F[,once=F][,keep=N][,layout=append|ring|packed][,ttl=D]
//
// Above a method without parameters, for an index of its result:
//
//	//kv:unique (or list, timeline, ranking), with the same options
//
// Every index takes name=, its name instead of By<Field>; if=, the bool field or
// method that selects its records, instead of the model's; was=, the earlier name
// under which its entries are stored; and over a slice max=, the maximum number of
// values of a record, instead of 1,000. Keys are strings, integers, bools, named
// types of them, and structs of two to four; unique and list take slices of keys.
// Empty values (but not 0 and false) have no entry.
//
// # The lock file
//
// Keep kvgen.lock under version control: it records what the package stores. Kvgen
// refuses a change that would orphan stored data, and names the remedy: was= or
// name= for a model or an index, a msgpack tag with the old name for a field.
// If the data is not needed, or will be rebuilt, run kvgen -accept.
//
// # Flags
//
//	-check   write nothing; name each file that is stale, missing or left over, exit with 1 if any is
//	-plan    write nothing; print the access plan with its trips to memcached (one Redis server often
//	         takes fewer), and the fields that the method of a ranking reads, as far as its body
//	         shows them
//	-cmd DIR write only DIR/main.go, a database command for these models
//	-accept  accept changes that the lock file refuses
//	-h       print this manual
//
// Errors are printed as file:line:col: message, and a run with an error writes
// nothing. Kvgen reads neither its own output, which may be missing, stale or
// broken, nor, except with -plan, the bodies of functions, so the package need not
// compile. The exit code is 0 for success, 1 for an error, 2 for wrong usage.
package main

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ringtree/ringtree/codegen"
)

// source has the manual: the comment above.
//
//go:embed main.go
var source string

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "new" {
		return begin(args[1:], stdout, stderr)
	}
	if len(args) > 0 && args[0] == "scaffold" {
		return scaffold(args[1:], stdout, stderr)
	}
	flags := newFlags(stderr)
	check := flags.Bool("check", false, "")
	plan := flags.Bool("plan", false, "")
	program := flags.String("cmd", "", "")
	accept := flags.Bool("accept", false, "")
	err := flags.Parse(args)
	if err != nil {
		const usage = "usage: kvgen [-check | -plan | -cmd DIR] [-accept] [packages]; kvgen -h prints the manual\n"
		return misused(err, manual(), usage, stdout, stderr)
	}
	r := codegen.Run{Patterns: flags.Args(), Accept: *accept}
	text, err := choose(r, *check, *plan, *program)
	fmt.Fprint(stdout, text)
	if err != nil {
		return failed(err, stderr)
	}
	if *check && text != "" {
		return 1
	}
	return 0
}

func newFlags(stderr io.Writer) *flag.FlagSet {
	flags := flag.NewFlagSet("kvgen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {}
	return flags
}

// misused returns the exit code after err of the flags: with help it is 0.
func misused(err error, help, usage string, stdout, stderr io.Writer) int {
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, help)
		return 0
	}
	fmt.Fprint(stderr, usage)
	return 2
}

func failed(err error, stderr io.Writer) int {
	fmt.Fprintln(stderr, err)
	return 1
}

func begin(args []string, stdout, stderr io.Writer) int {
	var n codegen.New
	flags := newFlags(stderr)
	flags.StringVar(&n.Module, "module", "", "")
	flags.StringVar(&n.Replace, "replace", "", "")
	err := flags.Parse(args)
	if err != nil || flags.NArg() != 1 {
		const usage = "usage: kvgen new [-module NAME] [-replace CLONE] DIR\n"
		return misused(err, usage, usage, stdout, stderr)
	}
	n.Dir = flags.Arg(0)
	if err := n.Write(); err != nil {
		return failed(err, stderr)
	}
	fmt.Fprintf(stdout, "%s is a site. Start it:\n\n\tcd %[1]s\n\tgo run .\n\nThen change models/models.go, and run go generate ./...\n", n.Dir)
	return 0
}

func scaffold(args []string, stdout, stderr io.Writer) int {
	var a codegen.Access
	flags := newFlags(stderr)
	flags.StringVar(&a.Owner, "owner", "", "")
	flags.BoolVar(&a.Anyone, "anyone", false, "")
	flags.BoolVar(&a.ReadOnly, "readonly", false, "")
	flags.Func("fields", "", func(names string) error { a.Fields = strings.Split(names, ","); return nil })
	err := flags.Parse(args)
	model := flags.Arg(0)
	if err == nil && model != "" {
		err = flags.Parse(flags.Args()[1:]) // Flags may follow the model.
	}
	if err != nil || model == "" || flags.NArg() > 0 || a.Anyone && a.ReadOnly || a.Owner != "" && (a.Anyone || a.ReadOnly) {
		const usage = "usage: kvgen scaffold [-owner FIELD | -anyone | -readonly] [-fields FIELD,FIELD...] MODEL\n"
		return misused(err, usage, usage, stdout, stderr)
	}
	written, report, err := codegen.Run{Patterns: []string{"./models"}}.Scaffold(model, a)
	if err != nil {
		return failed(err, stderr)
	}
	fmt.Fprintln(stdout, strings.Join(written, "\n"))
	fmt.Fprint(stdout, report)
	return 0
}

func choose(r codegen.Run, check, plan bool, program string) (text string, err error) {
	switch {
	case check && plan, program != "" && (check || plan):
		return "", errors.New("kvgen: -check, -plan and -cmd cannot be combined")
	case plan:
		return r.Plan()
	case check:
		return r.Check()
	case program != "":
		return "", r.Program(program)
	}
	return "", r.Generate()
}

func manual() string {
	comment, _, _ := strings.Cut(source, "package main\n")
	var text string
	for line := range strings.Lines(comment) {
		text += strings.TrimPrefix(strings.TrimPrefix(line, "//"), " ")
	}
	return text
}
