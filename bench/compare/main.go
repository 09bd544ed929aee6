// Command compare measures ringtree beside what a program could use instead of it, on
// the same work, and prints what each has taken.
//
//	go run -tags mattn ./compare [-n N] [-rtt D] [-o FILE] [-gate] [-report DIR]
//	go run ./compare -from FILE [-gate] [-report DIR]
//
// It starts the servers that it needs and stops them. Each peer is a process of its own
// with a data set of its own. In each round of a workload the peers take turns; what is told
// is the median of the rounds, with the least and the greatest.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
	"github.com/ringtree/ringtree/bench/internal/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if text := os.Getenv(childVariable); text != "" {
		err = beChild(context.WithoutCancel(ctx), text) // The parent closes its input to end it.
	} else {
		err = run(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// run does what args say.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(out)
	pages := flags.Int("n", 20_000, "`N`: pages in each data set")
	who := flags.String("peers", "", "measure these `PEERS` alone: "+strings.Join(namesOf(peers.All, kindName), ","))
	what := flags.String("workloads", "", "measure these `WORKLOADS` alone: "+strings.Join(namesOf(workloads, workloadName), ","))
	clients := flags.String("clients", "1,32", "numbers of `CLIENTS`")
	rounds := flags.Int("rounds", 3, "`ROUNDS` of each workload")
	lasts := flags.Duration("time", 200*time.Millisecond, "how long a measurement `LASTS`")
	rtt := flags.Duration("rtt", 0, "hold each reply of a server for this `TIME`; only peers with servers are measured then")
	file := flags.String("o", "compare.jsonl", "add the results to this `FILE`, a line of JSON each")
	from := flags.String("from", "", "measure nothing: take the results in this `FILE`")
	gate := flags.Bool("gate", false, "print each goal, its value, and ok or SHORT")
	dir := flags.String("report", "", "write benchmarks.md and its charts into this `FOLDER`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	}
	if *from == "" {
		p := plan{pages: *pages, rounds: *rounds, lasts: *lasts, rtt: *rtt, progress: out}
		err := errors.Join(
			choose(&p.peers, peers.All, *who, kindName), choose(&p.workloads, workloads, *what, workloadName),
			numbers(&p.clients, *clients), p.check())
		if err != nil {
			return err
		}
		err = p.record(ctx, *file)
		if ctx.Err() != nil {
			return fmt.Errorf("stopped; what was measured before is in %s", *file)
		}
		if err != nil {
			return err
		}
		*from = *file
	}
	at, results, err := readLines(*from)
	if err != nil {
		return err
	}
	if *dir != "" {
		if err := writeReport(*dir, at, results); err != nil {
			return err
		}
	}
	if *gate {
		return printGate(out, results)
	}
	return nil
}

func kindName(k peers.Kind) string { return k.Name }

func workloadName(w workload) string { return w.name }

func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, x := range all {
		names = append(names, name(x))
	}
	return names
}

// choose puts those of all that are named in list into chosen, or all of them if it is empty.
func choose[T any](chosen *[]T, all []T, list string, name func(T) string) error {
	if list == "" {
		*chosen = slices.Clone(all)
		return nil
	}
	for want := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(all, func(x T) bool { return name(x) == want })
		if i < 0 {
			return fmt.Errorf("there is no %q; there are: %s", want, strings.Join(namesOf(all, name), ", "))
		}
		*chosen = append(*chosen, all[i])
	}
	return nil
}

func numbers(all *[]int, list string) error {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > peers.Clients {
			return fmt.Errorf("-clients %s: want numbers from 1 to %d", list, peers.Clients)
		}
		*all = append(*all, n)
	}
	return nil
}

// check names all that is missing or would be unfair. With an RTT it leaves out the peers without a server.
func (p *plan) check() error {
	if p.rtt > 0 {
		p.peers = slices.DeleteFunc(p.peers, func(k peers.Kind) bool { return k.Server == "" })
	}
	if p.pages < 1000 || p.rounds < 1 || p.lasts <= 0 {
		return errors.New("want -n of at least 1000, and -rounds and -time above 0")
	}
	var all []error
	if !sqlite.InC && slices.ContainsFunc(p.peers, func(k peers.Kind) bool { return strings.Contains(k.Name, "sqlite") }) {
		all = append(all, errors.New("SQLite in pure Go is too slow to be compared fairly: build with -tags mattn and a C compiler, or leave it out with -peers"))
	}
	for _, server := range p.servers() {
		all = append(all, peers.Missing(server))
	}
	return errors.Join(all...)
}
