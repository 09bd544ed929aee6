// Command figures measures what ringtree promises and prints it, a line for
// each figure: its name, its value, its target, and ok or SHORT. It exits with
// status 1 if one is short or could not be measured.
//
//	go run ./figures [-only GROUP] [-n N]
//
// Counts (trips, operations, keys, bytes, allocations) are exact and the same
// on every machine. A time is given as a ratio of two that were measured in turns in
// the same run, the median of many turns.
//
// The group store also measures the embedded store beside SQLite: commits, creations,
// bytes written and kept, reads while a table is moved, and reopening. It is SQLite in Go
// unless this program is built with -tags mattn and a C compiler.
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
	"strings"
	"syscall"
)

// group is a part of the promises. A new one is added here.
type group struct {
	name    string
	measure []func(*bench) error
	byHand  bool // it takes hours, so it is measured only where -only names it
}

var groups = []group{
	{name: "store", measure: storeFigures},
	{name: "records", measure: recordFigures},
	{name: "lists", measure: listFigures},
	{name: "totals", measure: totalFigures},
	{name: "timeline", measure: timelineFigures},
	{name: "ranking", measure: rankingFigures},
	{name: "app", measure: appFigures},
	{name: "conduit", measure: conduitFigures},
	{name: "inspect", measure: inspectFigures},
	{name: "docs", measure: docsFigures},
	{name: "whole", measure: wholeFigures},
	{name: "bulk", measure: []func(*bench) error{bulk}, byHand: true},
	{name: "kills", measure: []func(*bench) error{longKills}, byHand: true},
	{name: "restarts", measure: []func(*bench) error{longRestarts}, byHand: true},
	{name: "failovers", measure: []func(*bench) error{longFailovers}, byHand: true},
	{name: "histories", measure: []func(*bench) error{longHistories}, byHand: true},
}

func main() {
	if path := os.Getenv(childVariable); path != "" {
		writeUntilKilled(path)
	}
	if what := os.Getenv(wholeChild); what != "" {
		writeWholeUntilKilled(what)
	}
	if file := os.Getenv(buildChild); file != "" {
		buildUntilKilled(file)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, groups)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// run measures the groups that args choose. The error says that a figure is short,
// or what else went wrong.
func run(ctx context.Context, args []string, out io.Writer, groups []group) error {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	flags.SetOutput(out)
	only := flags.String("only", "", "measure this `GROUP` alone: "+names(groups))
	n := flags.Int("n", 0, "`N`: how many kills, histories, records or members where a figure has such a number; 0 is its own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	case *n < 0:
		return fmt.Errorf("-n %d: it must not be negative", *n)
	}
	chosen, err := choose(groups, *only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ringtree-figures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	b := &bench{ctx: ctx, n: *n, dir: dir, out: out}
	for _, g := range chosen {
		b.run(g)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if short := b.short(); short > 0 {
		return fmt.Errorf("%d of %d figures are short", short, len(b.figures))
	}
	return nil
}

func choose(groups []group, only string) ([]group, error) {
	if only == "" {
		return slices.DeleteFunc(slices.Clone(groups), func(g group) bool { return g.byHand }), nil
	}
	i := slices.IndexFunc(groups, func(g group) bool { return g.name == only })
	if i < 0 {
		return nil, fmt.Errorf("-only %s: there is no such group; there are: %s", only, names(groups))
	}
	return groups[i : i+1], nil
}

func names(groups []group) string {
	var all []string
	for _, g := range groups {
		all = append(all, g.name)
	}
	return strings.Join(all, ", ")
}
