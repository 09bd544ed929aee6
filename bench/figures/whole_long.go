package main

import (
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// wholeFlood reports what a process logs while one of two servers is lost for a
// minute.
func wholeFlood(b *bench) error {
	f, err := whole.RunFlood(b.ctx, 4, time.Minute, kv.ErrLost)
	if err != nil {
		return err
	}
	b.report("lines of the log in a minute without a server", float64(len(f.Lines)), atMost(100).varying())
	b.report("bytes of the longest of them", float64(f.Longest()), atMost(1000).varying())
	return nil
}
