package kvsession

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ErrRevoked means that RevokeAll was called for the user between Generation and SignInIf, which
// did not sign in.
var ErrRevoked = errors.New("kvsession: all sessions of the user were ended during the sign-in")

// Generation is a generation of a user's sessions. Each RevokeAll begins the next.
type Generation struct {
	user string
	mark []byte // random; nil if no RevokeAll is recent
	read time.Time
}

var generationKey = kv.NewClass("generation", 1)

// Generation returns the current generation of user's sessions, for SignInIf. Read it before the
// data that the user is checked against, such as the hash of the password.
func (s *Store) Generation(ctx context.Context, user string) (Generation, error) {
	g := Generation{user: user, read: time.Now().Round(0)}
	result, err := kv.One(ctx, s.store, kv.OpGet(generationKey.Key(user)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return Generation{}, named(err)
	}
	g.mark = result.Value
	return g, nil
}

func (s *Store) current(ctx context.Context, g Generation) error {
	now, err := s.Generation(ctx, g.user)
	if err != nil {
		return err
	}
	// A mark is kept for longer than this, so a newer one would still be there.
	if !bytes.Equal(now.mark, g.mark) || now.read.Sub(g.read) > grace/2 {
		return ErrRevoked
	}
	return nil
}

func (s *Store) nextGeneration(ctx context.Context, user string) error {
	for turn := new(turn); ; {
		// Each mark is written once, so a late write is never mistaken for an earlier mark.
		_, err := kv.One(ctx, s.store, kv.OpSet(generationKey.Key(user), kv.RandomBytes(16)).For(grace))
		if err == nil || !turn.again(ctx, err) {
			return named(err)
		}
	}
}
