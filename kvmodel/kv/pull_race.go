//go:build race

package kv

import (
	"iter"
	"runtime"
)

// pull is iter.Pull on a goroutine. Under the race detector an ended coroutine keeps tens of
// kilobytes, because the runtime does not tell the detector of its end.
func pull(seq iter.Seq[struct{}]) (next func() (struct{}, bool), stop func()) {
	p := &pulling{seq: seq, goOn: make(chan bool), yields: make(chan bool)}
	return p.next, p.stop
}

type pulling struct {
	seq          iter.Seq[struct{}]
	goOn         chan bool // false: yield returns false
	yields       chan bool // false: seq has ended
	begun, ended bool
	panicked     any  // the panic value of seq
	exited       bool // seq called runtime.Goexit
}

func (p *pulling) next() (struct{}, bool) {
	switch {
	case p.ended:
		return struct{}{}, false
	case p.begun:
		p.goOn <- true
	default:
		p.begun = true
		go p.run()
	}
	return struct{}{}, p.wait()
}

func (p *pulling) stop() {
	if p.begun && !p.ended {
		p.goOn <- false
		p.wait()
	}
	p.ended = true
}

// wait reports whether seq yields. A panic or Goexit of seq is repeated here.
func (p *pulling) wait() bool {
	if <-p.yields {
		return true
	}
	p.ended = true
	if p.panicked != nil {
		panic(p.panicked)
	}
	if p.exited {
		runtime.Goexit()
	}
	return false
}

func (p *pulling) run() {
	p.exited = true
	defer func() {
		p.panicked = recover()
		p.yields <- false
	}()
	p.seq(func(struct{}) bool {
		p.yields <- true
		return <-p.goOn
	})
	p.exited = false
}
