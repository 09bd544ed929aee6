package kvsession

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"time"
	"weak"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// ErrEnded means that the session has been signed out, was revoked, got a new cookie or expired
// since it was read. Nothing was stored.
var ErrEnded = errors.New("the session has ended")

// Store keeps sessions in a kv.Store. It is safe for concurrent use; a session is not.
type Store struct {
	store   kv.Store
	options Options
	signers []*securecookie.SecureCookie
	holds   holds
}

var _ sessions.Store = (*Store)(nil)

// New returns a Store on store. The error names an invalid option.
func New(store kv.Store, o Options) (*Store, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("kvsession: %w", err)
	}
	return &Store{
		store: store, options: o, signers: o.signers(),
		holds: holds{of: make(map[weak.Pointer[sessions.Session]]*hold)},
	}, nil
}

func (s *Store) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return kv.Patient(ctx, kv.PowersOf(s.store).Patience)
}

// Get returns the request's session called name, the same one each time. The errors are those of
// New.
func (s *Store) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New reads the request's session called name. Without a valid cookie, or if it has ended, the
// session is empty and IsNew. If it cannot be read, New returns the error with an empty session
// that cannot be saved or signed in; SignOut still ends it.
func (s *Store) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	session.Options = s.options.cookie()
	session.IsNew = true
	secret, current := s.readCookie(r, name)
	if secret == nil {
		return session, nil
	}
	held := s.holds.get(session)
	found, err := s.read(r.Context(), hashOf(secret).String())
	if err == nil {
		err = show(session, found)
	}
	switch {
	case err == nil:
		*held = hold{stored: found, secret: secret, current: current}
	case !errors.Is(err, ErrEnded):
		*held = hold{stored: stored{id: found.id}, err: err}
		return session, err
	case found.record.Next != "" && time.Since(found.record.Used) < overlap:
		held.err = ErrEnded
	}
	return session, nil
}

// overlap is how long after a session was replaced requests with its old cookie may arrive. They
// must not replace the new cookie.
const overlap = time.Minute

// User returns the signed-in user, or "".
func (s *Store) User(session *sessions.Session) string { return s.holds.get(session).record.User }

type stored struct {
	id      string // empty: not stored
	record  record
	version kv.Version // 0: unknown
}

func (s *Store) read(ctx context.Context, id string) (stored, error) {
	found := stored{id: id}
	result, err := kv.One(ctx, s.store, kv.OpGet(sessionKey.Key(id)))
	if errors.Is(err, kv.ErrNotFound) {
		return found, ErrEnded
	}
	if err != nil {
		return found, fmt.Errorf("kvsession: %w", err)
	}
	found.version = result.Version
	if found.record, err = decodeRecord(result.Value); err != nil {
		return found, wire.Corrupt(sessionKey.Key(id), err)
	}
	if found.record.Next != "" || found.record.left(&s.options, now()) <= 0 {
		return found, ErrEnded
	}
	return found, nil
}

// swap replaces old with next if old is unchanged. The error is ErrEnded if nothing is stored.
func (s *Store) swap(ctx context.Context, old stored, next record, ttl time.Duration) error {
	if ttl <= 0 {
		return ErrEnded
	}
	data, err := next.encode()
	if err != nil {
		return err
	}
	_, err = kv.One(ctx, s.store, kv.OpSwap(sessionKey.Key(old.id), old.version, data).For(ttl))
	if errors.Is(err, kv.ErrNotFound) {
		return ErrEnded
	}
	return named(err)
}

func named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("kvsession: %w", err)
}

func show(session *sessions.Session, found stored) error {
	values, err := found.record.Values.decode()
	if err != nil {
		return err
	}
	session.ID = found.id
	session.IsNew = false
	session.Options.MaxAge = found.record.MaxAge
	session.Values = values
	return nil
}

func now() time.Time { return time.Now().Truncate(time.Second) }

// The zero hold is of a session that is not stored.
type hold struct {
	stored         // the state that Values was made from
	secret  []byte // in the cookie
	current bool   // the cookie is signed with the first key
	err     error
}

// A sessions.Session has no room for its hold: Values belongs to the app, which may clear it.
type holds struct {
	mu sync.Mutex
	of map[weak.Pointer[sessions.Session]]*hold
}

func (h *holds) get(session *sessions.Session) *hold {
	place := weak.Make(session)
	h.mu.Lock()
	defer h.mu.Unlock()
	if held, ok := h.of[place]; ok {
		return held
	}
	held := new(hold)
	h.of[place] = held
	runtime.AddCleanup(session, h.forget, place)
	return held
}

func (h *holds) forget(place weak.Pointer[sessions.Session]) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.of, place)
}
