package kvtest

import (
	"slices"
	"testing/synctest"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (s *Sim) crash(p *process, why string) {
	if p.die() {
		s.bury(p)
		s.note(p.name, "crashes "+why)
	}
}

// bury ends the requests of a crashed process. Its ops in flight may or may not be carried out.
func (s *Sim) bury(p *process) {
	var lost []*request
	for _, f := range slices.Clone(s.flights) {
		if f.req == nil || f.from != p {
			continue
		}
		if s.chance(0.5) {
			s.linger(f)
		}
		s.remove(f)
		if !slices.Contains(lost, f.req) {
			lost = append(lost, f.req)
		}
	}
	// Not earlier, because a Do that returns gives its ops back to the caller.
	for _, r := range lost {
		r.err = errCrashed
		close(r.done)
		synctest.Wait()
	}
}

func (s *Sim) crashOne() {
	if s.world.MaxCrashes > 0 && s.crashes >= s.world.MaxCrashes {
		return
	}
	var mortals []*process
	for _, p := range s.procs {
		if !p.spared && !p.crashed() {
			mortals = append(mortals, p)
		}
	}
	if len(mortals) > 0 {
		s.crashes++
		s.crash(mortals[s.rng.IntN(len(mortals))], "by chance")
	}
}

func (s *Sim) evictOne() {
	if key, ok := s.someKey(s.world.Evictable, true); ok {
		s.Evict(key)
	}
}

func (s *Sim) setOneBack() {
	key, ok := s.someKey(s.world.Counters, false)
	if !ok {
		return
	}
	ops := []kv.Op{kv.OpGet(key)}
	s.direct(ops)
	if n, err := kv.ParseNumber(ops[0].Result.Value); err == nil && n > 0 {
		s.SetBack(key, s.rng.Int64N(n))
	}
}

// someKey returns a random key that want accepts. If want is nil, any key will do if all is set,
// and none otherwise.
func (s *Sim) someKey(want func(string) bool, all bool) (string, bool) {
	keys := slices.DeleteFunc(s.mem.Keys(), func(key string) bool {
		return want == nil && !all || want != nil && !want(key)
	})
	if len(keys) == 0 {
		return "", false
	}
	slices.Sort(keys)
	return keys[s.rng.IntN(len(keys))], true
}
