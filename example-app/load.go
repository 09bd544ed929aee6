package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/ringtree/ringtree/example-app/demo"
)

// load sends visitors to a site on this machine and prints every second what
// they got.
func load(ctx context.Context, args []string, out io.Writer) error {
	crowd := demo.Crowd{}
	flags := flag.NewFlagSet("example-app load", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&crowd.URL, "url", "http://"+defaultAddr+"/", "`URL` of the site, on this machine")
	flags.IntVar(&crowd.Visitors, "visitors", 8, "send `N` visitors at the same time, 1 to 256")
	length := flags.Duration("for", 30*time.Second, "stop after `DURATION`, at most an hour")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; load -h lists the flags", flags.Arg(0))
	}
	if *length <= 0 || *length > time.Hour {
		return fmt.Errorf("-for %s: want more than 0 and at most an hour", *length)
	}
	ctx, cancel := context.WithTimeout(ctx, *length)
	defer cancel()
	crowd.Report = func(r demo.Rate) { fmt.Fprintln(out, "example-app:", r) }
	total, err := crowd.Walk(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "example-app: total:", total)
	return nil
}
