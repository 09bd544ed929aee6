package kvtest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	lateSpeed  = 0.2            // of a flight whose caller has gone
	redrawOdds = 0.05           // per step, that clients change their speeds
	patience   = 48 * time.Hour // time without a step after which a client counts as stuck
)

// until runs steps until done, called while all clients stand still, returns true.
func (s *Sim) until(done func() bool) {
	s.t.Helper()
	for {
		s.gather()
		if done() {
			return
		}
		if !slices.ContainsFunc(s.flights, func(f *flight) bool { return !f.held() }) || s.inTransaction() {
			s.idle()
			continue
		}
		if limit := cmp.Or(s.world.MaxSteps, 100_000); s.step >= limit {
			s.t.Fatalf("sim: no end after %d steps; still running: %s", s.step, s.whoRuns())
		}
		s.stepOnce()
	}
}

func (s *Sim) gather() {
	synctest.Wait()
	s.mu.Lock()
	arrivals, expired := s.arrivals, s.expired
	s.arrivals, s.expired = nil, nil
	s.mu.Unlock()
	sortRequests(arrivals)
	for _, r := range arrivals {
		s.flights = append(s.flights, s.flightsOf(r)...)
	}
	sortRequests(expired)
	for _, r := range expired {
		s.expire(r)
		// The clients wake one after another, since they may draw from crypto/rand.
		synctest.Wait()
	}
	for _, p := range s.procs {
		if p.crashed() {
			s.bury(p)
		}
	}
}

func (s *Sim) idle() {
	s.t.Helper()
	stuck := time.NewTimer(patience)
	defer stuck.Stop()
	select {
	case <-s.stirred:
	case <-stuck.C:
		s.t.Fatalf("sim: no request in %v; still running: %s", patience, s.whoRuns())
	}
}

func (s *Sim) whoRuns() string {
	var names []string
	for _, p := range s.procs {
		names = append(names, p.name)
	}
	return fmt.Sprintf("%d functions of %s", s.unfinished(), strings.Join(names, ", "))
}

func (s *Sim) stop() {
	for _, p := range s.procs {
		p.die()
	}
	for end := time.Now().Add(patience); s.unfinished() > 0 || s.inTransaction(); {
		s.gather()
		if time.Now().After(end) {
			s.t.Errorf("sim: functions still run %v after the crash of their processes: %s", patience, s.whoRuns())
			return
		}
		select {
		case <-s.stirred:
		case <-time.After(patience):
		}
	}
}

func (s *Sim) stepOnce() {
	s.step++
	for _, p := range s.procs {
		if p.crashStep > 0 && s.step >= p.crashStep {
			s.crash(p, "at its step")
		}
	}
	if s.chance(redrawOdds) {
		for _, p := range s.procs {
			p.drawSpeed(s.rng)
		}
	}
	switch {
	case s.chance(s.world.Crash):
		s.crashOne()
	case s.chance(s.world.Evict):
		s.evictOne()
	case s.chance(s.world.SetBack):
		s.setOneBack()
	case s.chance(s.world.Pause):
		d := s.someTime()
		s.note("", fmt.Sprintf("%v pass", d))
		time.Sleep(d)
	default:
		if f := s.choose(); f != nil {
			s.advance(f)
		}
	}
}

func (s *Sim) chance(p float64) bool { return p > 0 && s.rng.Float64() < p }

// someTime returns 1 ms to about a minute, each order of magnitude equally often, and almost never
// the same twice, so each wait ends at a moment of its own.
func (s *Sim) someTime() time.Duration {
	return time.Millisecond<<s.rng.IntN(17) + time.Duration(s.rng.IntN(1e6))
}

func (s *Sim) choose() *flight {
	sum := 0.0
	var last *flight
	for _, f := range s.flights {
		if !f.held() {
			sum += f.speed()
			last = f
		}
	}
	at := s.rng.Float64() * sum
	for _, f := range s.flights {
		if f.held() {
			continue
		}
		if at -= f.speed(); at <= 0 {
			return f
		}
	}
	return last // There are none, or a rounding error.
}

// expire answers r, whose context has ended. Each of its flights was not sent, is lost, or goes on.
func (s *Sim) expire(r *request) {
	reason := r.ctx.Err()
	unavailable := fmt.Errorf("sim: %w: %w", kv.ErrUnavailable, reason)
	unclear := fmt.Errorf("sim: %w: %w", kv.ErrUnclear, reason)
	for _, f := range s.of(r) {
		if r.atomic {
			s.remove(f)
			r.err = unavailable
			close(r.done)
			continue
		}
		switch s.rng.IntN(3) {
		case 0:
			s.end(f, unavailable, unavailable)
		case 1:
			s.end(f, unavailable, unclear)
		default:
			s.linger(f)
			s.end(f, unavailable, unclear)
		}
	}
}

// sortRequests orders requests of one moment, whatever the scheduling of goroutines was.
func sortRequests(rs []*request) {
	if len(rs) < 2 {
		return
	}
	slices.SortStableFunc(rs, func(a, b *request) int {
		return cmp.Or(cmp.Compare(a.from.number, b.from.number), cmp.Compare(len(a.ops), len(b.ops)),
			slices.CompareFunc(a.ops, b.ops, compareOps))
	})
}

func compareOps(a, b kv.Op) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), bytes.Compare(a.Value, b.Value),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Delta, b.Delta))
}

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
