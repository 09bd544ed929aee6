package main

import (
	"os"
	"time"

	"github.com/ringtree/ringtree/bench/figures/costs"
)

var costFigures = []func(*bench) error{writeCosts}

// writeCosts measures docs/costs.md, and writes it where -o says.
func writeCosts(b *bench) error {
	begun := time.Now()
	page, err := costs.Page(b.ctx)
	if err != nil {
		return err
	}
	b.report("costs: time to measure the page", time.Since(begun).Seconds(), atMost(20).in("s"))
	if b.page == "" {
		return nil
	}
	return os.WriteFile(b.page, page, 0o644)
}
