package main

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

// longRestarts restarts one of two memcached servers under load, again and again, and
// reports what is then answered otherwise than before and with no error.
func longRestarts(b *bench) error {
	if err := need("memcached"); err != nil {
		return err
	}
	var two []*servers.Process
	var addrs []string
	for range 2 {
		p, err := servers.Memcached("-M", "-m", "512")
		if err != nil {
			return err
		}
		defer p.Stop()
		two, addrs = append(two, p), append(addrs, p.Addr)
	}
	open := func(tenant string) (*whole.Library, error) {
		s, err := memcachekv.OpenVolatile(addrs, memcachekv.Options{})
		if err != nil {
			return nil, err
		}
		return whole.Open(s, kvmodel.Tenant(tenant))
	}
	restarts := b.size(500)
	var all whole.Restarted
	for n := range restarts {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		p := two[rand.IntN(2)]
		found, err := whole.Restart(b.ctx, fmt.Sprint("t", n), open, func() error { p.Kill(); return p.Start() })
		if err != nil {
			return fmt.Errorf("restart %d: %w", n+1, err)
		}
		all.Add(found)
	}
	b.report("restarts of one of two memcached servers", float64(restarts), exactly(float64(restarts)))
	b.report("calls under load at the same time", float64(all.Calls), target{}.varying())
	b.report("answers afterward", float64(all.Answers), target{}.varying())
	b.report("of these that say what is lost", float64(all.Said), target{}.varying())
	b.report("of these wrong and silent", float64(len(all.Wrong)), exactly(0))
	b.report("restarts that were not noticed", float64(all.Unnoticed), exactly(0))
	if len(all.Wrong) > 0 {
		return errors.New("the first: " + all.Wrong[0])
	}
	return nil
}
