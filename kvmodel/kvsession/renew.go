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

// A session gets a new cookie in three steps, of which the first two are one
// trip:
//
//  1. its successor is added under a fresh id that nobody knows yet,
//  2. and put into the user's list;
//  3. the old session is marked as replaced by it, if it still is what was read.
//
// Only then is the cookie sent. A crash before step 3 leaves the old session as
// it was, and a successor that nobody can use. Whoever ends the old session
// before step 3 makes it fail, and whoever comes later finds the successor in
// the list.

// SignIn gives the session a new cookie and binds it to user, from whom List and
// RevokeAll know it. The old cookie, which somebody may have slipped in, is
// worth nothing from then on. Values stay, but for those of another user: of
// these only what this request has set.
//
// The errors are those of Save. After one the session and its cookie are as
// before, but for kv.ErrUnclear, after which the old session may yet turn
// out to have ended.
func (s *Store) SignIn(r *http.Request, w http.ResponseWriter, session *sessions.Session, user string) error {
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
	})
}

// Regenerate gives the session a new cookie, as is due when what it may do
// changes. All else stays. The errors are those of SignIn.
func (s *Store) Regenerate(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	return s.renew(r, w, session, func(old record) record { return old })
}

// SignOut ends the session, empties it and drops the cookie. The session may be
// used again and is then another one. If the store cannot be asked, the session
// and the cookie stay, and the error says why: the visitor is still signed in.
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

// end removes the session called id. It is no error if there is none.
func (s *Store) end(ctx context.Context, id string) error {
	for turn := new(turn); ; {
		_, err := kv.One(ctx, s.store, kv.OpDelete(sessionKey.Key(id)))
		if err == nil || errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		// The key is never used again, so to repeat it does no harm.
		if !turn.again(ctx, err) {
			return fmt.Errorf("kvsession: %w", err)
		}
	}
}

// begin returns the record of a session that begins now.
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

// renew puts what become makes of the session in its place, under a new cookie.
func (s *Store) renew(r *http.Request, w http.ResponseWriter, session *sessions.Session, become func(old record) record) error {
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
	next, err := s.replace(r.Context(), held.stored, func(old record) record { return e.on(become(old)) },
		func() hash { secret = newSecret(); return hashOf(secret) })
	if err != nil {
		return err
	}
	*held = hold{stored: next, secret: secret}
	if err := show(session, next); err != nil {
		return err
	}
	return s.send(w, session, held)
}

// replace adds what become makes of old under a fresh id, retires old, and
// returns the new session. If old was saved meanwhile, it starts over.
func (s *Store) replace(ctx context.Context, old stored, become func(record) record, fresh func() hash) (stored, error) {
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
		err = s.retire(ctx, old, id.String())
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

// known returns old with its version, read again if this is not known; if
// nothing is stored, the beginning of a session.
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

// add stores a session under a fresh id and puts it into its user's list.
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
	// Each op tells in its result what became of it.
	_ = s.store.Do(ctx, ops)
	if err = ops[0].Err(); err == nil && rec.User != "" {
		err = s.enlisted(ctx, rec.User, ops[1:])
	}
	if err == nil && time.Now().Round(0).Sub(began) > grace/2 {
		err = fmt.Errorf("it took so long that the user's list may have lost it: %w", kv.ErrUnavailable)
	}
	if err != nil {
		s.drop(ctx, id)
		return fmt.Errorf("kvsession: %w", err)
	}
	return nil
}

// drop removes a session whose cookie nobody was given.
func (s *Store) drop(ctx context.Context, id hash) {
	// If it stays, nobody can use it, and it expires.
	_, _ = kv.One(ctx, s.store, kv.OpDelete(sessionKey.Key(id.String())))
}

// retire marks old as replaced by the session called next. The error is
// ErrEnded if it has ended otherwise, kv.ErrConflict if it was saved.
//
// The mark stays for as long as a request can be under way: a RevokeAll that
// finds it looks again for what took its place.
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
