package kvsession

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ErrRevoked says that a RevokeAll of the user's sessions came between Generation and
// SignInIf. Nobody was signed in.
var ErrRevoked = errors.New("kvsession: all sessions of the user were ended during the sign-in")

// Generation is which generation of a user's sessions is the current one. Each RevokeAll
// begins the next.
type Generation struct {
	user string
	mark []byte // random; none if no RevokeAll is recent
	read time.Time
}

var generationKey = kv.NewClass("generation", 1)

// Generation returns the current generation of user's sessions, for SignInIf. Read it
// before what the user is checked against, such as the hash of the password: then no one
// who passes the check with what was true before a RevokeAll stays signed in after it.
func (s *Store) Generation(ctx context.Context, user string) (Generation, error) {
	g := Generation{user: user, read: time.Now().Round(0)}
	result, err := kv.One(ctx, s.store, kv.OpGet(generationKey.Key(user)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return Generation{}, named(err)
	}
	g.mark = result.Value
	return g, nil
}

// current returns nil if g is still the current generation of its user, or ErrRevoked.
func (s *Store) current(ctx context.Context, g Generation) error {
	now, err := s.Generation(ctx, g.user)
	if err != nil {
		return err
	}
	// A mark that has come since is there for longer than this.
	if !bytes.Equal(now.mark, g.mark) || now.read.Sub(g.read) > grace/2 {
		return ErrRevoked
	}
	return nil
}

// nextGeneration begins the next generation of user's sessions.
func (s *Store) nextGeneration(ctx context.Context, user string) error {
	for turn := new(turn); ; {
		// A mark is written once. One that arrives late is not taken for an earlier one.
		_, err := kv.One(ctx, s.store, kv.OpSet(generationKey.Key(user), kv.RandomBytes(16)).For(grace))
		if err == nil || !turn.again(ctx, err) {
			return named(err)
		}
	}
}
