package kvsession

import (
	"runtime"
	"sync"
	"weak"

	"github.com/gorilla/sessions"
)

// hold is the store's data about a session in use by a request. The zero hold belongs to a session
// that is not stored.
type hold struct {
	stored         // the state that Values was made from
	secret  []byte // in the cookie
	current bool   // the cookie is signed with the first key
	err     error  // the reason why it must not be saved
}

// holds keeps the hold of each session while the session is in use. A sessions.Session has no room
// for it: Values belongs to the app, which may clear it.
type holds struct {
	mu sync.Mutex
	of map[weak.Pointer[sessions.Session]]*hold
}

// get returns the session's hold, or a new one for a new session.
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
