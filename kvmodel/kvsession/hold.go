package kvsession

import (
	"runtime"
	"sync"
	"weak"

	"github.com/gorilla/sessions"
)

// hold is the store's knowledge of a session in use. The zero hold is of one that is not stored.
type hold struct {
	stored         // the state that Values was made from
	secret  []byte // in the cookie
	current bool   // the cookie is signed with the first key
	err     error  // why it must not be saved
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
