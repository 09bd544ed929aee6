package whole_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// voter changes the votes for polls of its own.
type voter struct {
	l     *whole.Library
	rng   *rand.Rand
	polls []string
	votes map[whole.VoteID]int64
}

// change makes a random change, and returns the poll whose numbers follow.
func (v *voter) change() (poll string, err error) {
	id := whole.VoteID{User: fmt.Sprint("u", v.rng.IntN(30)), Poll: v.polls[v.rng.IntN(len(v.polls))]}
	value := v.rng.Int64N(7) - 3
	_, there := v.votes[id]
	set := func(vote *whole.Vote) error { vote.Value = value; return nil }
	var refused error
	switch v.rng.IntN(5) {
	case 0:
		_, err = v.l.Votes.Upsert(ctx, id, set)
	case 1, 2:
		err, refused = v.l.Votes.Create(ctx, &whole.Vote{User: id.User, Poll: id.Poll, Value: value}), when(there, kv.ErrExists)
	case 3:
		_, err = v.l.Votes.Update(ctx, id, set)
		refused = when(!there, kv.ErrNotFound)
	default:
		err, refused = v.l.Votes.Delete(ctx, id), when(!there, kv.ErrNotFound)
		if err == nil {
			delete(v.votes, id)
			return id.Poll, nil
		}
	}
	if err == nil && refused == nil {
		v.votes[id] = value
	}
	if errors.Is(err, refused) {
		err = nil
	}
	return id.Poll, err
}

func when(holds bool, err error) error {
	if holds {
		return err
	}
	return nil
}

// should returns the numbers of a poll.
func (v *voter) should(poll string) (p whole.Poll) {
	p.ID = poll
	for id, value := range v.votes {
		if id.Poll == poll {
			p.Votes++
			p.Score += value
			if value < 0 {
				p.Against++
			}
		}
	}
	return p
}

func TestLong_CountsAndSumsAreRightAtEachReply(t *testing.T) {
	servers.EachStore(t, func(t *testing.T, url string) {
		t.Parallel()
		store, err := kvopen.Store(ctx, url, all.Engines)
		must(t, err)
		t.Cleanup(func() { must(t, store.Close()) })
		shared := still{store, kv.PowersOf(store)}
		l := libraryIn(t, shared)
		const voters = 4
		changes := proof.Size(50, 2500)
		var voting sync.WaitGroup
		for n := range uint64(voters) {
			if !shared.powers.Alone {
				l = libraryIn(t, shared)
			}
			v := &voter{l, rand.New(rand.NewPCG(n, 1)), []string{fmt.Sprint("a", n), fmt.Sprint("b", n)}, map[whole.VoteID]int64{}}
			for _, poll := range v.polls {
				must(t, l.Polls.Create(ctx, &whole.Poll{ID: poll}))
			}
			voting.Go(func() {
				for i := range changes {
					poll, err := v.change()
					if err != nil {
						t.Errorf("change %d of voter %d: %v", i, n, err)
						return
					}
					if got, err := v.l.Polls.Get(ctx, poll); err != nil || *got != v.should(poll) {
						t.Errorf("after change %d of voter %d: %+v, %v; want %+v", i, n, got, err, v.should(poll))
					}
				}
			})
		}
		voting.Wait()
		if !t.Failed() {
			t.Logf("right at %d of %[1]d replies", voters*changes)
		}
	})
}
