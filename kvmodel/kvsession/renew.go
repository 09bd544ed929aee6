package kvsession

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A session gets a new cookie in three steps, of which the first two are one trip:
//
//  1. add its successor under a fresh id,
//  2. add that to the user's list;
//  3. mark the old session as replaced, if it is unchanged.
//
// Only then is the cookie sent. A crash before step 3 leaves the old session, and a successor that
// nobody can use. If the old session ends before step 3, that step fails, and a later request finds
// the successor in the list.
//
// SignInIf rereads the user's generation before step 3, and RevokeAll begins the next generation
// before it reads the list. So one of them sees the other.

// SignIn gives the session a new cookie and binds it to user. The old cookie, which an attacker may
// have planted, becomes worthless. Values stay, unless another user was signed in: then only those
// set by this request do. After checking a password, use SignInIf.
//
// The errors are those of Save. After an error the session and its cookie are unchanged; only after
// kv.ErrUnclear may the old session have ended.
func (s *Store) SignIn(r *http.Request, w http.ResponseWriter, session *sessions.Session, user string) error {
	return s.signIn(r, w, session, user, always)
}

// SignInIf is SignIn for the user of g. It returns ErrRevoked if a RevokeAll for that user has
// begun since g was read, or if that was half an hour ago.
func (s *Store) SignInIf(r *http.Request, w http.ResponseWriter, session *sessions.Session, g Generation) error {
	return s.signIn(r, w, session, g.user, func(ctx context.Context) error { return s.current(ctx, g) })
}

// signIn calls may after RevokeAll can find the session.
func (s *Store) signIn(r *http.Request, w http.ResponseWriter, session *sessions.Session, user string, may condition) error {
	if user == "" {
		return errors.New("kvsession: sign in: the user is empty")
	}
	return s.renew(r, w, session, func(old record) record {
		next := s.begin()
		next.User, next.Label = user, s.label(r)
		if old.User == "" || old.User == user {
			next.Values = old.Values
		}
		return next
	}, may)
}

// Regenerate gives the session a new cookie. Call it when the session's rights change. The errors
// are those of SignIn.
func (s *Store) Regenerate(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	return s.renew(r, w, session, func(old record) record { return old }, always)
}

// A condition returns the reason why a session must not replace the one before it, or nil.
type condition func(context.Context) error

func always(context.Context) error { return nil }

// SignOut ends and empties the session and drops the cookie. The session may be used again, as a
// new one. After an error the visitor is still signed in, except perhaps after kv.ErrUnclear.
func (s *Store) SignOut(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	held := s.holds.get(session)
	s.complete(session)
	if held.id != "" {
		if err := s.end(r.Context(), held.id); err != nil {
			return err
		}
	}
	dropCookie(w, session)
	*held = hold{}
	session.ID, session.IsNew = "", true
	clear(session.Values)
	return nil
}

func (s *Store) end(ctx context.Context, id string) error {
	for turn := new(turn); ; {
		_, err := kv.One(ctx, s.store, kv.OpDelete(sessionKey.Key(id)))
		if err == nil || errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		// The key is never used again, so repeating the delete is harmless.
		if !turn.again(ctx, err) {
			return fmt.Errorf("kvsession: %w", turn.doubt(err))
		}
	}
}

func (s *Store) begin() record {
	t := now()
	return record{Created: t, Ends: t.Add(s.options.Lifetime)}
}

func (s *Store) label(r *http.Request) string {
	if s.options.Label == nil {
		return ""
	}
	text := s.options.Label(r)
	return strings.ToValidUTF8(text[:min(len(text), MaxLabel)], "")
}

func (s *Store) renew(r *http.Request, w http.ResponseWriter, session *sessions.Session, become func(old record) record, may condition) error {
	held := s.holds.get(session)
	s.complete(session)
	if held.err != nil && !errors.Is(held.err, ErrEnded) {
		return notSaved(held.err)
	}
	e, err := editOf(session, held)
	if err != nil {
		return err
	}
	e.aged = true
	var secret []byte
	ctx, cancel := s.patient(r.Context())
	defer cancel()
	next, err := s.replace(ctx, held.stored, func(old record) record { return e.on(become(old)) },
		func() hash { secret = kv.RandomBytes(secretSize); return hashOf(secret) }, may)
	if err != nil {
		return err
	}
	*held = hold{stored: next, secret: secret}
	if err := show(session, next); err != nil {
		return err
	}
	return s.send(w, session, held)
}

// replace adds the result of become under a fresh id and retires old if may allows it. It starts
// over if old was saved meanwhile.
func (s *Store) replace(ctx context.Context, old stored, become func(record) record, fresh func() hash, may condition) (stored, error) {
	for turn := new(turn); ; {
		var err error
		if old, err = s.known(ctx, old); err != nil {
			return stored{}, err
		}
		id, next := fresh(), become(old.record)
		next.Used = now()
		if err = s.add(ctx, id, next); err != nil {
			return stored{}, err
		}
		if err = may(ctx); err == nil {
			err = s.retire(ctx, old, id.String())
		}
		if err == nil {
			return stored{id: id.String(), record: next}, nil
		}
		s.drop(ctx, id)
		if !errors.Is(err, kv.ErrConflict) || !turn.again(ctx, err) {
			return stored{}, err
		}
		old.version = 0
	}
}

func (s *Store) known(ctx context.Context, old stored) (stored, error) {
	switch {
	case old.id == "":
		old.record = s.begin()
		return old, nil
	case old.version == 0:
		return s.read(ctx, old.id)
	}
	return old, nil
}

func (s *Store) add(ctx context.Context, id hash, rec record) error {
	data, err := rec.encode()
	if err != nil {
		return err
	}
	began := time.Now().Round(0)
	ops := []kv.Op{kv.OpAdd(sessionKey.Key(id.String()), data).For(max(rec.left(&s.options, began), time.Second))}
	if rec.User != "" {
		ops = append(ops, enlist(rec.User, seat{id, began})...)
	}
	_ = s.store.Do(ctx, ops) // Each op has its own error.
	if err = ops[0].Err(); err == nil && rec.User != "" {
		err = s.enlisted(ctx, rec.User, ops[1:])
	}
	if err == nil && time.Now().Round(0).Sub(began) > grace/2 {
		err = fmt.Errorf("it took so long that the user's list of sessions may lack it: %w", kv.ErrUnavailable)
	}
	if err != nil {
		s.drop(ctx, id)
		return fmt.Errorf("kvsession: %w", err)
	}
	return nil
}

// drop removes a session whose cookie was never sent. If it fails, the session expires unused.
func (s *Store) drop(ctx context.Context, id hash) {
	_, _ = kv.One(ctx, s.store, kv.OpDelete(sessionKey.Key(id.String())))
}

// retire marks old as replaced by next. The error is ErrEnded if old has ended, and kv.ErrConflict
// if it was saved. The mark outlives any running request: a RevokeAll that finds it looks again for
// the replacement.
func (s *Store) retire(ctx context.Context, old stored, next string) error {
	if old.id == "" {
		return nil
	}
	t := now()
	mark := record{User: old.record.User, Used: t, Ends: t.Add(grace), Next: next}
	for turn := new(turn); ; {
		err := s.swap(ctx, old, mark, grace)
		if err == nil || !errors.Is(err, kv.ErrUnclear) && turn.unclear == 0 {
			return err
		}
		more := turn.again(ctx, kv.ErrUnclear)
		found, err := s.read(ctx, old.id)
		switch {
		case found.record.Next == next:
			return nil
		case err != nil:
			return turn.doubt(err)
		case found.version != old.version:
			return fmt.Errorf("kvsession: %w", kv.ErrConflict)
		case !more:
			return fmt.Errorf("kvsession: %w", kv.ErrUnclear)
		}
	}
}
