// Command compare measures the pages of an app, and single operations, on ringtree and its
// alternatives.
//
//	go run -tags mattn ./compare [-workloads W] [-peers P] [-clients C] [-n N] [-o FILE] [-page FOLDER]
//	go run ./compare -from FILE -page FOLDER
//
// It starts the servers it needs. Each peer has its own process and data. In each round of a
// workload the peers take turns; the results are the median, minimum and maximum of the rounds.
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

	"github.com/ringtree/ringtree/bench/compare/place"
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

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.SetOutput(out)
	sizes := flags.String("n", "100000", "`RECORDS` in each data set; several numbers are measured one after another")
	who := flags.String("peers", "", "measure these `PEERS` alone: "+strings.Join(namesOf(kinds, kindName), ","))
	what := flags.String("workloads", "", "measure these `WORKLOADS` alone: "+strings.Join(namesOf(workloads, workloadName), ","))
	clients := flags.String("clients", "1,16", "numbers of `CLIENTS`")
	rounds := flags.Int("rounds", 3, "`ROUNDS` of each workload")
	lasts := flags.Duration("time", 200*time.Millisecond, "how long a measurement `LASTS`; one of pages lasts five times as long")
	rtt := flags.Duration("rtt", 0, "hold each reply of a server for this `TIME`; only peers with servers are measured then")
	writes := flags.Int("writes", 10, "`PERCENT` of the pages that write, but for the forum")
	file := flags.String("o", "compare.jsonl", "write the results into this `FILE`, a line of JSON each")
	from := flags.String("from", "", "measure nothing: take the results in this `FILE`")
	dir := flags.String("page", "", "write benchmarks.md into this `FOLDER`, and the table of the README.md beside it; measure growth and pages with a network between, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	}
	if *from == "" {
		p := plan{rounds: *rounds, lasts: *lasts, rtt: *rtt, writes: *writes, progress: out}
		err := errors.Join(
			choose(&p.kinds, kinds, *who, kindName), choose(&p.workloads, workloads, *what, workloadName),
			numbers(&p.sizes, "-n", *sizes, 1000, 100_000_000), numbers(&p.clients, "-clients", *clients, 1, place.Clients), p.check())
		if err != nil {
			return err
		}
		plans := []plan{p}
		if *dir != "" {
			plans = append(plans, p.away(), p.growth())
		}
		if err := record(ctx, plans, *file); err != nil {
			return err
		}
		*from = *file
	}
	at, results, err := readLines(*from)
	if err != nil || *dir == "" {
		return err
	}
	return writePage(*dir, at, results)
}

func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, x := range all {
		names = append(names, name(x))
	}
	return names
}

// choose sets chosen to the elements of all named in list, or to all.
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

func numbers(all *[]int, flag, list string, least, most int) error {
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("%s %s: want numbers from %d to %d", flag, list, least, most)
		}
		*all = append(*all, n)
	}
	return nil
}

func (p *plan) check() error {
	p.able()
	if p.rounds < 1 || p.lasts <= 0 || p.writes < 0 || p.writes > 100 {
		return errors.New("want -rounds and -time above 0, and -writes from 0 to 100")
	}
	var all []error
	if !sqlite.InC && slices.ContainsFunc(p.kinds, func(k kind) bool { return strings.Contains(k.name, "sqlite") }) {
		all = append(all, errors.New("SQLite in pure Go is too slow to be compared fairly: build with -tags mattn and a C compiler, or leave it out with -peers"))
	}
	for _, server := range p.servers() {
		all = append(all, place.Missing(server))
	}
	return errors.Join(all...)
}
