package index_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// The model of a derived count: the number of a target's two edges. Two processes
// make, delete or change edges, possibly the same one, with up to two tries. One may
// die, and where the keys are on several servers its line may never have arrived; one request for the number may arrive late or never; the target is deleted
// and made again; the store may drop the number once. Whatever is in doubt is
// counted again, while others go on.

// counting is one way to count, with what may be wrong about it.
type counting struct {
	tries    uint8
	mischief bool // a death, a late request and a lost number
	three    bool // there are three processes, and the number is in doubt at first

	floor   bool // numbers end at 0
	drop    bool // the target takes its number along
	noBack  bool // what a change that gave up has added stays
	noCarry bool // the next try adds again
	after   bool // counted after the reply
	assume  bool // an addition without an answer is taken for done
	begins  bool // a number that was lost begins at 0
	early   bool // counted again while what is older is under way
	set     bool // counted again whatever has changed
	byCount bool // lists are compared by how many are in them
	blind   bool // the records are not asked about what is in the list
}

// edger is a process.
type edger struct {
	pc        uint8 // 0 idle, 1 has chosen, 2 commits and counts, 3 gives up, ended
	edge      uint8
	want      int8 // 1: make the edge; -1: delete it; 0: change something else
	tries     uint8
	rev       uint8 // of the edge as it was read
	was       uint8 // of the edge's entry as it was read
	sent      int8  // what it has added, as far as it knows
	delta     int8  // what it adds in this trip
	counted   bool  // in this trip
	committed bool
	lost      bool
	doubt     bool // an answer about the number is missing
	dead      bool
	unknown   bool // it has died, and its line did not arrive
	young     bool // it began after the recount under way had read the list
	elder     bool // it was under way when the last doubt arose
}

const ended = 9

// countState is a state of the model.
type countState struct {
	rev     [2]uint8 // of the edges
	in      [2]uint8 // the rev of their entries, 0: they are not there
	n       int8     // the number
	there   bool
	version uint8
	p       [3]edger

	late                  int8 // a request under way
	lateYoung, lateElder  bool
	lates, deaths, losses uint8 // how many there were
	gone                  bool  // the target was deleted

	open  bool // in doubt
	round struct {
		pc, version uint8
		list        [2]uint8
	}
	wrong uint8
}

func (s *countState) edges() (n int8) {
	for _, in := range s.in {
		if in > 0 {
			n++
		}
	}
	return n
}

// list returns the entries that count, by edge. Those of changes that have not
// committed, or not yet taken out what they have deleted, are among them.
func (s *countState) list() (list [2]uint8) {
	list = s.in
	for _, p := range s.p {
		if p.pc < 2 || p.pc == ended {
			continue
		}
		if p.pc == 2 && p.want > 0 && !p.committed {
			list[p.edge] = max(list[p.edge], p.rev+1)
		}
		if p.committed && p.want < 0 {
			list[p.edge] = max(list[p.edge], p.was)
		}
	}
	return list
}

func members(list [2]uint8) (n int8) {
	for _, rev := range list {
		if rev > 0 {
			n++
		}
	}
	return n
}

// add adds d to the number.
func (o *counting) add(s *countState, d int8) (found bool) {
	if !s.there {
		return d == 0
	}
	if d != 0 {
		s.n += d
		s.version++
	}
	if o.floor {
		s.n = max(0, s.n)
	}
	return true
}

// doubt puts the number in doubt: a round under way is not enough.
func (s *countState) doubt() {
	s.open, s.round.pc, s.round.version, s.round.list = true, 0, 0, [2]uint8{}
	s.lateElder = s.late != 0
	for i := range s.p {
		s.p[i].elder = s.p[i].pc > 0 && s.p[i].pc != ended
		s.p[i].young = false
	}
	s.lateYoung = false
}

func (o *counting) steps(s countState, step func(countState, string, ...any)) {
	next := func(n countState, format string, args ...any) {
		for i := range n.p {
			if n.p[i].pc == ended {
				n.p[i] = edger{pc: ended}
			}
		}
		if n.late == 0 {
			n.lateYoung, n.lateElder = false, false
		}
		step(n, format, args...)
	}
	if s.late != 0 {
		n := s
		n.late = 0
		o.add(&n, s.late)
		next(n, "a late %+d arrives", s.late)
		n = s
		n.late = 0
		next(n, "a late %+d never arrives", s.late)
	}
	if o.drop && !s.gone {
		n := s
		n.gone, n.there, n.n = true, false, 0
		n.version++
		next(n, "the target is deleted and made again")
	}
	if o.mischief && s.there && s.losses == 0 {
		n := s
		n.losses, n.there, n.n = 1, false, 0
		n.version++
		next(n, "the store drops the number")
	}
	for i := range s.p {
		if p := s.p[i]; p.pc != ended {
			o.process(s, i, next)
		}
	}
	o.recount(s, next)
}

// process is what process i may do.
func (o *counting) process(s countState, i int, step func(countState, string, ...any)) {
	p := s.p[i]
	if p.unknown {
		return
	}
	if p.dead {
		n := s
		if !p.committed {
			n.rev[p.edge]++ // a fence
		}
		n.p[i].pc = ended
		n.doubt()
		step(n, "repair ends the line of p%d", i)
		return
	}
	if o.mischief && p.pc > 0 && s.deaths == 0 {
		n := s
		n.deaths, n.p[i].dead = 1, true
		step(n, "p%d dies", i)
		// One that has begun a number again must be known: see docs/decisions/0004.
		if p.pc == 2 && p.tries == 0 && !p.committed && !p.lost && !p.counted && !p.doubt {
			n.p[i].unknown = true
			step(n, "p%d dies, and its line did not arrive", i)
		}
	}
	switch p.pc {
	case 0:
		for edge := range uint8(2) {
			for _, want := range []int8{1, -1, 0} {
				n := s
				n.p[i] = edger{pc: 1, edge: edge, want: want, young: s.round.pc >= 2}
				step(n, "p%d wants edge %d %+d", i, edge, want)
			}
		}
	case 1:
		o.prepare(s, i, step)
	case 2:
		o.commit(s, i, step)
	case 3:
		if p.sent == 0 || o.noBack {
			n := s
			n.p[i].pc = ended
			if p.doubt {
				n.doubt()
			}
			step(n, "p%d ends", i)
			return
		}
		o.send(s, i, -p.sent, step, "takes back", func(n *countState, answered bool) {
			n.p[i].sent = 0
		})
	}
}

// prepare is A0 and A1.
func (o *counting) prepare(s countState, i int, step func(countState, string, ...any)) {
	p := s.p[i]
	n := s
	if live := s.in[p.edge] > 0; p.want > 0 && live || p.want <= 0 && !live {
		n.p[i].pc = 3
		step(n, "p%d finds nothing to do", i)
		return
	}
	q := &n.p[i]
	q.pc, q.rev, q.was = 2, s.rev[p.edge], s.in[p.edge]
	q.committed, q.lost, q.counted = false, false, false
	q.delta = p.want - p.sent
	if o.noCarry {
		q.delta = p.want
	}
	if p.want > 0 && !s.there {
		n.there, n.n = true, 0
		n.version++
		if members(s.list()) > 0 && !o.begins {
			q.doubt = true
		}
	}
	step(n, "p%d reads and prepares edge %d", i, p.edge)
}

// commit is A2 with what goes out beside it, in any order, and what follows.
func (o *counting) commit(s countState, i int, step func(countState, string, ...any)) {
	p := s.p[i]
	if !p.committed && !p.lost {
		n := s
		if n.p[i].lost = s.rev[p.edge] != p.rev; !n.p[i].lost {
			n.p[i].committed = true
			n.rev[p.edge]++
			if p.want > 0 {
				n.in[p.edge] = n.rev[p.edge]
			} else if p.want < 0 {
				n.in[p.edge] = 0
			}
		}
		step(n, "p%d commits: %v", i, n.p[i].committed)
	}
	replied := p.counted
	if o.after {
		replied = !p.counted
	}
	if !p.counted && (!o.after || p.committed || p.lost) {
		o.send(s, i, p.delta, step, "counts", func(n *countState, answered bool) {
			n.p[i].counted = true
			n.p[i].sent += p.delta
			if o.after && p.committed && s.quiet(i) && s.n != s.edges() {
				n.wrong = 4
			}
		})
	}
	if !p.committed && !p.lost || !p.counted {
		return
	}
	n := s
	switch {
	case p.committed:
		n.p[i].pc = ended
		if p.doubt {
			n.doubt()
		} else if replied && s.quiet(i) && s.n != s.edges() {
			n.wrong = 4
		}
	case p.tries+1 >= o.tries:
		n.p[i].pc = 3
	default:
		n.p[i].pc, n.p[i].tries = 1, p.tries+1
	}
	step(n, "p%d goes on", i)
}

// send sends an addition, which may be answered, or be under way without an answer.
func (o *counting) send(s countState, i int, d int8, step func(countState, string, ...any), what string, then func(n *countState, answered bool)) {
	n := s
	found := o.add(&n, d)
	then(&n, true)
	n.p[i].doubt = n.p[i].doubt || !found
	step(n, "p%d %s %+d", i, what, d)
	if o.mischief && s.lates == 0 && d != 0 {
		n = s
		then(&n, false)
		n.late, n.lates, n.lateYoung, n.lateElder = d, 1, s.p[i].young, s.p[i].elder
		n.p[i].doubt = n.p[i].doubt || !o.assume
		step(n, "p%d %s %+d: not answered, under way", i, what, d)
	}
}

// quiet reports whether no one but i has anything under way and nothing is in doubt.
func (s *countState) quiet(i int) bool {
	for j, p := range s.p {
		if j != i && !p.unknown && (p.doubt || p.pc > 1 && p.pc != ended || p.pc == 1 && p.sent != 0) {
			return false
		}
	}
	return s.there && !s.open && s.late == 0
}

// recount is a step of counting again. It begins when what was under way when the
// doubt arose has ended, and ends when what was under way at its beginning has.
func (o *counting) recount(s countState, step func(countState, string, ...any)) {
	elder, old := s.lateElder, s.late != 0 && !s.lateYoung
	for _, p := range s.p {
		if p.pc > 0 && p.pc != ended && !p.unknown {
			elder, old = elder || p.elder, old || !p.young
		}
	}
	n := s
	switch {
	case s.open && s.round.pc == 0 && (!elder || o.early):
		n.round.pc, n.round.version = 1, s.version
		step(n, "the recount reads the number")
	case s.round.pc == 1:
		n.round.pc, n.round.list = 2, s.list()
		for i := range n.p {
			n.p[i].young = false
		}
		n.lateYoung = false
		step(n, "the recount reads the list: %v", n.round.list)
	case s.round.pc == 2 && (!old || o.early):
		list := s.list()
		same := list == s.round.list || o.byCount && members(list) == members(s.round.list)
		n.round.pc = 3
		if !same {
			n.round.pc, n.round.version, n.round.list = 0, 0, [2]uint8{}
		}
		step(n, "the recount reads the list again: %v", list)
	case s.round.pc == 3:
		if n.takesOut(s.round.list) && !o.blind {
			n.round.pc, n.round.version, n.round.list = 0, 0, [2]uint8{}
			step(n, "the recount takes out what no record confirms")
			return
		}
		n = s
		if s.version == s.round.version || o.set {
			n.there, n.n, n.open = true, members(s.round.list), false
			n.version++
		}
		n.round.pc, n.round.version, n.round.list = 0, 0, [2]uint8{}
		step(n, "the recount writes %d: %v", members(s.round.list), n.version != s.version)
	}
}

// takesOut fences the edges of processes whose lines did not arrive, as far as their
// entries are in list, and reports whether there are any.
func (s *countState) takesOut(list [2]uint8) (any bool) {
	for i, p := range s.p {
		if p.unknown && p.want > 0 && list[p.edge] == p.rev+1 && s.rev[p.edge] == p.rev {
			s.rev[p.edge]++
			s.p[i].pc = ended
			any = true
		}
	}
	return any
}

func (o *counting) wrong(s countState) string {
	if s.wrong == 4 {
		return "it answers nil, and its own change is not counted"
	}
	if s.open || s.late != 0 || s.losses > 0 && !s.there {
		return ""
	}
	for _, p := range s.p {
		if p.pc != 0 && p.pc != ended && !p.unknown {
			return ""
		}
	}
	if s.n != s.edges() {
		return fmt.Sprintf("at rest it says %d of %d", s.n, s.edges())
	}
	return ""
}

// reach goes through the model from no edge and from one.
func (o counting) reach() (states int, err error) {
	for _, edges := range []uint8{0, 1} {
		begin := countState{}
		if edges == 1 {
			begin.there, begin.n, begin.rev[0], begin.in[0] = true, 1, 1, 1
		}
		if begin.open = o.three; !o.three {
			begin.p[2].pc = ended
		}
		n, err := proof.Reach(proof.Model[countState]{Begin: begin, Steps: o.steps, Wrong: o.wrong, Most: 30_000_000})
		if states += n; err != nil {
			return states, err
		}
	}
	return states, nil
}

// countingMistakes are what the model must notice.
var countingMistakes = map[string]func(*counting){
	"numbers end at 0":                   func(o *counting) { o.floor = true },
	"the target takes its number along":  func(o *counting) { o.drop = true },
	"what gave up stays counted":         func(o *counting) { o.noBack = true },
	"each try adds again":                func(o *counting) { o.noCarry = true },
	"counted after the reply":            func(o *counting) { o.after = true },
	"no answer is taken for done":        func(o *counting) { o.assume = true },
	"what was lost begins at 0":          func(o *counting) { o.begins = true },
	"counted again too early":            func(o *counting) { o.early = true },
	"counted again whatever has changed": func(o *counting) { o.set = true },
	"the records are not asked":          func(o *counting) { o.blind = true },
}

func TestModels_ADerivedCountIsTheNumberOfEdges(t *testing.T) {
	two, three := counting{tries: 2, mischief: true}, counting{tries: 1, three: true}
	worlds, mistakes := []counting{two}, countingMistakes
	if proof.Long() {
		worlds, mistakes = append(worlds, three), maps.Clone(mistakes)
		mistakes["lists are compared by their lengths"] = func(o *counting) { *o = three; o.byCount = true }
	}
	for _, world := range worlds {
		states, err := world.reach()
		if err != nil {
			t.Error(err)
		}
		t.Logf("%d states", states)
	}
	for name, wrong := range mistakes {
		mistaken := two
		wrong(&mistaken)
		if n, err := mistaken.reach(); err == nil {
			t.Errorf("nothing notices that %s, in %d states", name, n)
		}
	}
}
