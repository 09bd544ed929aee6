package kvsession

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/sessions"
)

const secretSize = 32

// hash is the binary form of an id.
type hash [sha256.Size]byte

// hashOf returns the hash that identifies the session with secret in the store.
func hashOf(secret []byte) hash { return sha256.Sum256(secret) }

// String returns the id.
func (h hash) String() string { return base64.RawURLEncoding.EncodeToString(h[:]) }

// parseID returns the hash with the text id.
func parseID(id string) (h hash, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(b) != len(h) {
		return h, false
	}
	return hash(b), true
}

// readCookie returns the secret in the request's cookie called name, and whether it was signed with
// the first key. It returns nil if there is no valid cookie. The signature covers the name, so a
// cookie is valid only under its own name.
func (s *Store) readCookie(r *http.Request, name string) (secret []byte, current bool) {
	cookie, err := r.Cookie(name)
	if err != nil {
		return nil, false
	}
	for i, signer := range s.signers {
		if signer.Decode(name, cookie.Value, &secret) == nil && len(secret) == secretSize {
			return secret, i == 0
		}
	}
	return nil, false
}

// writeCookie sends the session's secret in a cookie that expires with it.
func (s *Store) writeCookie(w http.ResponseWriter, session *sessions.Session, secret []byte, left time.Duration) error {
	value, err := s.signers[0].Encode(session.Name(), secret)
	if err != nil {
		return fmt.Errorf("kvsession: sign the cookie: %w", err)
	}
	options := *session.Options
	if options.MaxAge > 0 {
		options.MaxAge = max(1, int(left/time.Second))
	}
	setCookie(w, sessions.NewCookie(session.Name(), value, &options))
	return nil
}

// dropCookie deletes the session's cookie in the browser.
func dropCookie(w http.ResponseWriter, session *sessions.Session) {
	options := *session.Options
	options.MaxAge = -1
	setCookie(w, sessions.NewCookie(session.Name(), "", &options))
}

// setCookie sets a cookie and removes an earlier one of that name from the response, so that a
// browser never sees two.
func setCookie(w http.ResponseWriter, cookie *http.Cookie) {
	const header = "Set-Cookie"
	before := w.Header()[header]
	w.Header().Del(header)
	for _, line := range before {
		if !strings.HasPrefix(line, cookie.Name+"=") {
			w.Header().Add(header, line)
		}
	}
	http.SetCookie(w, cookie)
}
