package kvsession

import (
	"runtime"
	"sync"
	"weak"

	"github.com/gorilla/sessions"
)

// hold is what the store knows of a session that a request holds. The zero hold
// is that of a session of which nothing is stored.
type hold struct {
	stored         // what Values was made of
	secret  []byte // of the cookie
	current bool   // the cookie is signed with the first key
	err     error  // why it must not be saved
}

// holds has the hold of each session for as long as somebody holds the session.
// A sessions.Session has no room for it: Values belongs to the app, which may
// clear it.
type holds struct {
	mu sync.Mutex
	of map[weak.Pointer[sessions.Session]]*hold
}

// get returns the session's hold, which is new if the session is.
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
