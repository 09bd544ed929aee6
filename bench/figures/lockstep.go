package main

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// lockstep is a store whose users all take a trip at the same time. Once each of
// them waits, all trips are made, in a random order, and no user sees an answer
// before that. So a trip takes equally long for all, as over a network, and they lose
// the same races against each other on every machine.
type lockstep struct {
	store kvmodel.Store
	rng   *rand.Rand

	mu      sync.Mutex
	joined  int // and not left
	waiting []chan struct{}
}

func newLockstep(s kvmodel.Store, rng *rand.Rand) *lockstep { return &lockstep{store: s, rng: rng} }

// stepper is the store of one user of a lockstep.
type stepper struct {
	*lockstep
	busy sync.Mutex // one trip at a time
}

func (l *lockstep) join() *stepper {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.joined++
	return &stepper{lockstep: l}
}

// leave is called by a user who takes no further trip.
func (s *stepper) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined--
	s.goOn()
}

// goOn starts a round of trips if all users wait for it.
func (l *lockstep) goOn() {
	if len(l.waiting) < l.joined {
		return
	}
	l.rng.Shuffle(len(l.waiting), func(i, j int) { l.waiting[i], l.waiting[j] = l.waiting[j], l.waiting[i] })
	for _, turn := range l.waiting {
		turn <- struct{}{}
		<-turn
	}
	for _, turn := range l.waiting {
		close(turn)
	}
	l.waiting = nil
}

// Do waits for the round, and answers when it is over.
func (s *stepper) Do(ctx context.Context, ops []kv.Op) error {
	s.busy.Lock()
	defer s.busy.Unlock()
	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	last := len(s.waiting) == s.joined
	s.mu.Unlock()
	if last {
		go func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.goOn()
		}()
	}
	<-turn
	err := s.store.Do(ctx, ops)
	turn <- struct{}{}
	<-turn
	return err
}

func (s *stepper) Close() error { return nil }

func (s *stepper) Powers() kv.Powers { return kv.Powers{} }
