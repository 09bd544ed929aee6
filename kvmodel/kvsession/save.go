package kvsession

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Save stores the changes of the session and, if necessary, sends its cookie, so call it before the
// response is written. It does not store a new session without values. If Options.MaxAge is
// negative, it is SignOut.
//
// The error is ErrEnded if the session has ended; that of New if it could not be read; a
// codec.ErrNotStorable or kv.ErrTooLarge for Values; kv.ErrConflict if it kept losing races; or the
// store's. Unless it is kv.ErrUnclear, nothing was stored, and Save may be called again.
func (s *Store) Save(r *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	held := s.holds.get(session)
	s.complete(session)
	switch {
	case session.Options.MaxAge < 0:
		return s.SignOut(r, w, session)
	case held.id == "" && len(session.Values) == 0:
		return nil
	case held.err != nil:
		return notSaved(held.err)
	case held.id == "":
		return s.renew(r, w, session, func(old record) record { return old }, always)
	}
	wrote, err := s.update(r.Context(), session, held)
	if err != nil || held.current && !wrote {
		return err
	}
	return s.send(w, session, held)
}

// complete sets missing fields of a session that New did not make.
func (s *Store) complete(session *sessions.Session) {
	if session.Options == nil {
		session.Options = s.options.cookie()
	}
	if session.Values == nil {
		session.Values = make(map[any]any)
	}
}

func notSaved(err error) error {
	if errors.Is(err, ErrEnded) {
		return err
	}
	return fmt.Errorf("kvsession: not saved, because it could not be read: %w", err)
}

func (s *Store) send(w http.ResponseWriter, session *sessions.Session, held *hold) error {
	held.current = true
	return s.writeCookie(w, session, held.secret, held.record.left(&s.options, now()))
}

func (s *Store) update(ctx context.Context, session *sessions.Session, held *hold) (wrote bool, err error) {
	e, err := editOf(session, held)
	if err != nil {
		return false, err
	}
	there := held.stored
	if e.empty() && !there.record.due(&s.options, now()) {
		return false, nil
	}
	ctx, cancel := s.patient(ctx)
	defer cancel()
	for turn := new(turn); ; {
		if there.version == 0 {
			if there, err = s.read(ctx, held.id); err != nil {
				return false, turn.doubt(err)
			}
		}
		next := e.on(there.record)
		if wrote && next.same(&there.record) {
			break // An answer was lost, but the write was not.
		}
		next.Used = now()
		wrote = true
		if err = s.swap(ctx, there, next, next.left(&s.options, now())); err == nil {
			there.record = next
			break
		}
		if !turn.again(ctx, err) {
			return false, turn.doubt(err)
		}
		there.version = 0
	}
	there.version = 0 // A write returns none.
	held.stored = there
	return wrote, show(session, there)
}

type edit struct {
	changes
	maxAge int
	aged   bool // maxAge is new
}

func editOf(session *sessions.Session, held *hold) (edit, error) {
	values, err := encodeValues(session.Values)
	return edit{
		changes: changesOf(held.record.Values, values),
		maxAge:  session.Options.MaxAge,
		aged:    session.Options.MaxAge != held.record.MaxAge,
	}, err
}

func (e *edit) empty() bool { return len(e.changes) == 0 && !e.aged }

func (e *edit) on(rec record) record {
	rec.Values = e.changes.on(rec.Values)
	if e.aged {
		rec.MaxAge = e.maxAge
	}
	return rec
}

func (rec *record) same(other *record) bool {
	return rec.MaxAge == other.MaxAge && rec.Values.equal(other.Values)
}

// turn decides whether to retry after a lost race or an unclear answer.
type turn struct{ conflicts, unclear int }

const (
	maxConflicts = 50
	maxUnclear   = 3
)

func (t *turn) again(ctx context.Context, err error) bool {
	switch {
	case errors.Is(err, kv.ErrConflict):
		t.conflicts++
	case errors.Is(err, kv.ErrUnclear):
		t.unclear++
	default:
		return false
	}
	if t.conflicts == maxConflicts || t.unclear == maxUnclear {
		return false
	}
	return kv.Sleep(ctx, kv.Jitter(time.Millisecond<<min(t.conflicts+t.unclear, 5)))
}

// doubt returns err, as an ErrUnclear if an earlier try may have been carried out or still may be.
func (t *turn) doubt(err error) error {
	if t.unclear == 0 || errors.Is(err, ErrEnded) {
		return err
	}
	return kv.Unclear(err)
}
