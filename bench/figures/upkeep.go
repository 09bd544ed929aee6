package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

const (
	upkeepClients = 16
	idleTime      = time.Minute
)

// upkeep reports how many requests a process sends beside those of its verbs: the
// ticks of its journal, its looks for the dead, and what it asks to know that indexes
// are whole and servers have their memory.
func upkeep(b *bench) error {
	return b.eachOf([]opener{onRedis, onMemcached}, func(on backend) error {
		front, err := newFront(on.addrs[0])
		if err != nil {
			return err
		}
		defer front.Close()
		scheme := map[string]string{"rediskv": "redis://", "memcachekv": "memcached://"}[on.name]
		s, err := kvopen.Store(b.ctx, scheme+front.Addr().String(), all.Engines)
		if err != nil {
			return err
		}
		var sent requests
		l, err := whole.Open(stores.Outliving{Store: kvmodel.Trace(s, sent.count)})
		if err != nil {
			return errors.Join(err, s.Close())
		}
		err = b.measureUpkeep(on.name, l, func() (all, extra int64) {
			looks := front.looks.Load()
			return sent.all.Load() + looks, sent.extra.Load() + looks
		})
		return errors.Join(err, l.DB.Close(b.ctx), s.Close())
	})
}

func (b *bench) measureUpkeep(name string, l *whole.Library, sent func() (all, extra int64)) error {
	var writers [upkeepClients]*whole.Writer
	for i := range writers {
		writers[i] = whole.NewWriter(l, i, rand.New(rand.NewPCG(uint64(i), 5)), new(whole.Diary))
	}
	calls := b.size(20_000)
	began := time.Now()
	all, extra := sent()
	err := together(upkeepClients, calls, func(client, _ int) error { writers[client].Step(b.ctx); return b.ctx.Err() })
	took := time.Since(began).Seconds()
	allThen, extraThen := sent()
	if err != nil {
		return err
	}
	all, extra = allThen-all, extraThen-extra
	b.report(name+": requests a second of 16 clients", math.Round(float64(all)/took), target{}.varying())
	b.report(name+": of these ticks, looks, heads and boot items", 100*float64(extra)/float64(all), atMost(1).in("%"))
	b.report(name+": ticks, looks, heads and boot items for each call", float64(extra)/float64(calls), target{}.varying())
	if err := l.DB.Flush(b.ctx); err != nil {
		return err
	}
	if !kv.Sleep(b.ctx, idleTime/4) { // The journal ticks until its last line is gone.
		return b.ctx.Err()
	}
	all, _ = sent()
	kv.Sleep(b.ctx, idleTime)
	allThen, _ = sent()
	b.report(name+": requests a minute of an idle process", float64(allThen-all), target{}.varying())
	return b.ctx.Err()
}

// requests counts the ops that a store was asked for.
type requests struct{ all, extra atomic.Int64 }

func (r *requests) count(_ context.Context, t kvmodel.Trip) {
	for _, op := range t.Ops {
		r.all.Add(1)
		class, _, _ := strings.Cut(op.Key, ":")
		switch class {
		case "out", "procs", "fixed", "built", "ids":
			r.extra.Add(1)
		}
	}
}

// front is an address in front of a server that counts the looks at its boot item,
// which no store shows.
type front struct {
	net.Listener
	server string
	looks  atomic.Int64
}

func newFront(server string) (*front, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	f := &front{Listener: l, server: server}
	go f.serve()
	return f, nil
}

func (f *front) serve() {
	for {
		client, err := f.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", f.server)
		if err != nil {
			client.Close()
			continue
		}
		go pass(client, server, nil)
		go pass(server, client, f.see)
	}
}

// bootItem is what the key of a boot item begins with.
const bootItem = "ringtree{b"

func (f *front) see(sent []byte) { f.looks.Add(int64(bytes.Count(sent, []byte(bootItem)))) }

// pass copies what from sends to to, until one of them ends.
func pass(to io.WriteCloser, from io.ReadCloser, see func([]byte)) {
	defer to.Close()
	defer from.Close()
	buf, kept := make([]byte, 64<<10), 0
	for {
		n, err := from.Read(buf[kept:])
		if see != nil {
			see(buf[:kept+n])
		}
		if _, failed := to.Write(buf[kept : kept+n]); err != nil || failed != nil {
			return
		}
		// A key may be cut in two.
		end := kept + n
		kept = copy(buf, buf[max(0, end-len(bootItem)+1):end])
	}
}
