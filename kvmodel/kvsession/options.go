package kvsession

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Options configures a Store. Only Keys is required.
type Options struct {
	// Keys sign the cookies; each has at least 32 random bytes. The first one signs, and all are
	// accepted. To change the key, put a new one in front, and remove the old one after Lifetime.
	Keys [][]byte

	Idle     time.Duration // life of an unused session; 0 means 14 days, at most Lifetime
	Lifetime time.Duration // life since the beginning or the last SignIn; 0 means 90 days

	Path     string        // of the cookie; empty means /
	Domain   string        // of the cookie; empty means the host alone
	SameSite http.SameSite // of the cookie; 0 means Lax

	// Insecure lets browsers send the cookie without TLS, for development.
	Insecure bool

	// PerUser is the number of signed-in sessions to keep for a user. When there are twice as many,
	// the oldest are ended until PerUser remain. 0 means 50.
	PerUser int

	// Label returns a description for List of a session being signed in, such as the browser's
	// name.
	Label func(*http.Request) string
}

// MaxLabel is the maximum length of a label in bytes.
const MaxLabel = 200

const minKey = 32

func (o Options) withDefaults() Options {
	if o.Lifetime == 0 {
		o.Lifetime = 90 * 24 * time.Hour
	}
	if o.Idle == 0 {
		o.Idle = min(14*24*time.Hour, o.Lifetime)
	}
	if o.Path == "" {
		o.Path = "/"
	}
	if o.SameSite == 0 {
		o.SameSite = http.SameSiteLaxMode
	}
	if o.PerUser == 0 {
		o.PerUser = 50
	}
	return o
}

func (o *Options) check() error {
	switch {
	case len(o.Keys) == 0:
		return errors.New("option Keys is empty: signing cookies needs one")
	case o.Lifetime < time.Second || o.Lifetime > kv.MaxTTL:
		return fmt.Errorf("option Lifetime %v is not in 1s..%v", o.Lifetime, kv.MaxTTL)
	case o.Idle < time.Second || o.Idle > o.Lifetime:
		return fmt.Errorf("option Idle %v is not in 1s..%v, the Lifetime", o.Idle, o.Lifetime)
	case o.PerUser < 0 || o.PerUser > maxPerUser:
		return fmt.Errorf("option PerUser %d is not in 1..%d", o.PerUser, maxPerUser)
	case o.Insecure && o.SameSite == http.SameSiteNoneMode:
		return errors.New("option Insecure with SameSite=None: browsers refuse such a cookie")
	}
	for i, key := range o.Keys {
		if len(key) < minKey {
			return fmt.Errorf("option Keys[%d] has %d bytes, at least %d", i, len(key), minKey)
		}
	}
	return nil
}

func (o *Options) cookie() *sessions.Options {
	return &sessions.Options{
		Path: o.Path, Domain: o.Domain, SameSite: o.SameSite,
		MaxAge: int(o.Idle / time.Second), Secure: !o.Insecure, HttpOnly: true,
	}
}

func (o *Options) signers() []*securecookie.SecureCookie {
	var all []*securecookie.SecureCookie
	for _, key := range o.Keys {
		// The store decides whether a session is valid, not the age of its cookie.
		all = append(all, securecookie.New(key, nil).MaxAge(0).SetSerializer(securecookie.NopEncoder{}))
	}
	return all
}
