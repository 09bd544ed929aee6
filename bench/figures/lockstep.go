package main

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// lockstep is a store on which all who use it take a trip at the same time: once
// each of them waits, all trips are made, in an order drawn by chance, and none
// sees an answer before. So a trip takes as long for everybody, as over a network,
// and what they lose against each other is the same on every machine.
type lockstep struct {
	store kvmodel.Store
	rng   *rand.Rand

	mu      sync.Mutex
	seats   int // who is there
	waiting []chan struct{}
}

func newLockstep(s kvmodel.Store, rng *rand.Rand) *lockstep { return &lockstep{store: s, rng: rng} }

// seat is the store of one of those who go in step.
type seat struct {
	*lockstep
	busy sync.Mutex // one trip at a time
}

func (l *lockstep) seat() *seat {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seats++
	return &seat{lockstep: l}
}

// leave is for who takes no further trip.
func (s *seat) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seats--
	s.goOn()
}

// goOn lets a round of trips begin if all wait for it.
func (l *lockstep) goOn() {
	if len(l.waiting) < l.seats {
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
func (s *seat) Do(ctx context.Context, ops []kv.Op) error {
	s.busy.Lock()
	defer s.busy.Unlock()
	turn := make(chan struct{})
	s.mu.Lock()
	s.waiting = append(s.waiting, turn)
	last := len(s.waiting) == s.seats
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

func (s *seat) Close() error { return nil }

func (s *seat) Powers() kv.Powers { return kv.Powers{} }
