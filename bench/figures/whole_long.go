package main

import (
	"errors"
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

// wholeMemory reports whether a process that meets ever new ids, values and owners goes
// on growing: the most memory it has had in a tenth of its calls, and in all.
func wholeMemory(b *bench) (err error) {
	l, err := whole.NewLong()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close(b.ctx)) }()
	n := b.size(10_000_000)
	early, most := 0, 0
	const samples = 100
	for i := range samples {
		if err := l.Run(b.ctx, n/samples*(i+1)); err != nil {
			return err
		}
		most = max(most, l.Memory())
		if i == samples/10-1 {
			early = most
		}
	}
	b.report("calls on new ids", float64(n), target{}.varying())
	b.report("MB in use after a tenth of them, at most", float64(early>>20), target{}.varying())
	b.report("MB in use, at most", float64(most>>20), target{}.varying())
	b.report("the one to the other", float64(most)/float64(early), atMost(1.1).ratio())
	return nil
}
