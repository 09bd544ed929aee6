package main

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
)

const (
	doorBase   = "/inspect"
	doorCookie = "ashiato-inspect"
)

// door lets the person who has started the app look into its database. The key in its address
// works once: it becomes a cookie with its hash, which works until the app ends.
type door struct {
	key    string
	hash   string
	secure bool // the cookie goes over https only
	used   atomic.Bool
	pages  http.Handler
}

var errLocked = errors.New("this browser has not opened the address that the app has printed")

func newDoor(db *kvmodel.DB, secure bool) (d *door, err error) {
	d = &door{key: rand.Text(), secure: secure}
	d.hash = hashOf(d.key)
	d.pages, err = inspect.Handler(inspect.New(db), inspect.HandlerOptions{Guard: d.guard, Base: doorBase, Command: "example-app db"})
	return d, err
}

func hashOf(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// address returns the path that opens the door.
func (d *door) address() string { return doorBase + "/?key=" + d.key }

// beside returns a handler that serves the pages of d, and everything else with site.
func (d *door) beside(site http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != doorBase && !strings.HasPrefix(r.URL.Path, doorBase+"/"):
			site.ServeHTTP(w, r)
		case d.opens(r):
			d.open(w, r)
		default:
			d.pages.ServeHTTP(w, r)
		}
	})
}

// opens reports whether r has the key, and is the first to have it.
func (d *door) opens(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Path == doorBase+"/" && same(hashOf(r.URL.Query().Get("key")), d.hash) && !d.used.Swap(true)
}

// open answers with the cookie, and leads away from the address with the key.
func (d *door) open(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: doorCookie, Value: d.hash, Path: doorBase, HttpOnly: true, Secure: d.secure, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, doorBase+"/", http.StatusSeeOther)
}

// guard refuses requests without the cookie.
func (d *door) guard(r *http.Request) error {
	cookie, err := r.Cookie(doorCookie)
	if err != nil || !same(cookie.Value, d.hash) {
		return errLocked
	}
	return nil
}

// same compares two texts in a time that does not tell where they differ.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
