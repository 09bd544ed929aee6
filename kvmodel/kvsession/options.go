package kvsession

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/internal/durable"
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

// KeyIn returns a key for Options.Keys from a file of 64 hex digits. It creates a missing file with
// a random key, readable only by this user. Concurrent processes return the same key.
func KeyIn(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = makeKey(file)
	}
	if err != nil {
		return nil, fmt.Errorf("kvsession: cookie key: %w", err)
	}
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != minKey {
		return nil, fmt.Errorf("kvsession: %s is not a cookie key: it must have %d hex digits", file, 2*minKey)
	}
	return key, nil
}

// makeKey creates the file and returns its content, perhaps another process's. It links the
// complete file, so no process reads a part.
func makeKey(file string) ([]byte, error) {
	made, err := os.CreateTemp(filepath.Dir(file), "key") // with mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(made.Name())
	_, err = fmt.Fprintf(made, "%x\n", kv.RandomBytes(minKey))
	if err := errors.Join(err, made.Sync(), made.Close()); err != nil {
		return nil, err
	}
	if err := durable.Link(made.Name(), file); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(file)
}
