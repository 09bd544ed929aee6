package kvsession

import (
	"runtime"
	"sync"
	"weak"

	"github.com/gorilla/sessions"
)

// hold is what the store knows about a session that a request holds. The zero
// hold belongs to a session of which nothing is stored.
type hold struct {
	stored         // what Values was made from
	secret  []byte // in the cookie
	current bool   // the cookie is signed with the first key
	err     error  // why it must not be saved
}

// holds keeps the hold of each session as long as the session is in use. A
// sessions.Session has no room for it: Values belongs to the app, which may clear
// it.
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
