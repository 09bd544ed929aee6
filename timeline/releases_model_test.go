package timeline

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// The model of a ring to which releases give other shapes. The ring begins in shape 0,
// and process i wants it in shape i. Each process reads and writes, and may use what it
// has read of the built item for a while to read, and for as long as it sleeps to write.

// reshape are the ways to get it wrong.
type reshape struct {
	atOnce      bool // a shape is written as soon as it is named
	noWait      bool // who sees a shape coming does not wait before it is written
	readForever bool // the wait is for those alone who look again by themselves
	ownShape    bool // a release writes its own shape, once that is named
	blindPut    bool // the item is written whatever it says by now
	twoComing   bool // a shape is named while another one is coming
}

const reshapers = 3

// naming is what the built item says of the ring.
type naming struct {
	shapes [reshapers]uint8 // the earliest first
	n      uint8
	coming bool // the last one
	ver    uint8
}

func (r naming) has(shape uint8) bool { return slices.Contains(r.shapes[:r.n], shape) }

func (r naming) last() uint8 { return r.shapes[r.n-1] }

func (r naming) written() uint8 {
	if r.coming {
		return r.shapes[r.n-2]
	}
	return r.last()
}

// A reshaper is a process.
type reshaper struct {
	saw   naming // what it has read last
	reads bool   // it may still use that to read
	ripe  bool   // it has waited since it saw what is coming
}

type reshapeState struct {
	item    naming
	entries [reshapers]bool // by shape: there are some
	all     [reshapers]reshaper
}

func (o *reshape) wrong(s reshapeState) string {
	for i, p := range s.all {
		for shape, some := range s.entries {
			if some && p.reads && !p.saw.has(uint8(shape)) {
				return fmt.Sprintf("process %d misses the entries in shape %d", i, shape)
			}
		}
	}
	return ""
}

func (o *reshape) steps(s reshapeState, step func(reshapeState, string, ...any)) {
	for i := range s.all {
		o.look(s, i, step)
		o.change(s, uint8(i), step)
	}
}

// look is what process i does to know the item.
func (o *reshape) look(s reshapeState, i int, step func(reshapeState, string, ...any)) {
	n := s
	if p := &n.all[i]; p.saw.ver != s.item.ver || !p.reads {
		p.ripe = p.ripe && p.saw.last() == s.item.last()
		p.saw, p.reads = s.item, true
		step(n, "process %d looks", i)
	}
	n = s
	if p := &n.all[i]; p.reads {
		p.reads = false
		step(n, "what process %d has read is too old to read by", i)
	}
	n = s
	if p := &n.all[i]; p.saw.coming && !p.ripe && (o.readForever || allKnow(s, p.saw.last())) {
		p.ripe = true
		step(n, "20 seconds have passed since process %d saw the shape", i)
	}
}

// allKnow reports whether no one reads by an item that did not name the shape.
func allKnow(s reshapeState, shape uint8) bool {
	return !slices.ContainsFunc(s.all[:], func(p reshaper) bool { return p.reads && !p.saw.has(shape) })
}

// change is what process i does to the item and to the ring.
func (o *reshape) change(s reshapeState, i uint8, step func(reshapeState, string, ...any)) {
	p := s.all[i]
	put := func(item naming, what string) {
		if o.blindPut || p.saw.ver == s.item.ver {
			n := s
			item.ver = s.item.ver + 1
			n.item = item
			step(n, "process %d %s", i, what)
		}
	}
	if p.saw.coming && (p.ripe || o.noWait) {
		item := p.saw
		item.coming = false
		put(item, "lets the shape be written")
	}
	if !p.saw.has(i) && (!p.saw.coming || o.twoComing) {
		item := p.saw
		item.shapes[item.n], item.n, item.coming = i, item.n+1, !o.atOnce
		put(item, "names its shape")
	}
	n := s
	shape := p.saw.written()
	if o.ownShape && p.saw.has(i) {
		shape = i
	}
	if n.entries[shape] = true; n != s {
		step(n, "process %d writes shape %d", i, shape)
	}
}

func (o reshape) reach() (int, error) {
	s := reshapeState{item: naming{n: 1}}
	for i := range s.all {
		s.all[i].saw = s.item
	}
	return proof.Reach(proof.Model[reshapeState]{Begin: s, Steps: o.steps, Wrong: o.wrong, Most: 3_000_000})
}

func TestModels_EveryReaderKnowsTheShapesThatThereAreEntriesIn(t *testing.T) {
	states, err := reshape{}.reach()
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d states", states)
	for name, o := range map[string]reshape{
		"a shape is written as soon as it is named":                  {atOnce: true},
		"who sees a shape coming does not wait before it is written": {noWait: true},
		"the wait is for those alone who look again by themselves":   {readForever: true},
		"a release writes its own shape, once that is named":         {ownShape: true},
		"the item is written whatever it says by now":                {blindPut: true},
		"a shape is named while another one is coming":               {twoComing: true},
	} {
		if n, err := o.reach(); err == nil {
			t.Errorf("nothing notices that %s, in %d states", name, n)
		}
	}
}
