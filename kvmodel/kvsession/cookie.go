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

type hash [sha256.Size]byte

func hashOf(secret []byte) hash { return sha256.Sum256(secret) }

func (h hash) String() string { return base64.RawURLEncoding.EncodeToString(h[:]) }

func parseID(id string) (h hash, ok bool) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(id)
	if err != nil || len(b) != len(h) {
		return h, false
	}
	return hash(b), true
}

// readCookie returns nil without a valid cookie. The signature covers the name.
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

func dropCookie(w http.ResponseWriter, session *sessions.Session) {
	options := *session.Options
	options.MaxAge = -1
	setCookie(w, sessions.NewCookie(session.Name(), "", &options))
}

// setCookie replaces an earlier cookie of that name, so that a browser never sees two.
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
