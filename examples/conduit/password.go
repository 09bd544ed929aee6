package conduit

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

// Hash is the stored form of a password.
type Hash struct {
	Passes int
	Salt   []byte
	Key    []byte
}

// hashOf returns the hash of password, an empty one for an empty password.
func hashOf(password string, passes int) (Hash, error) {
	if password == "" {
		return Hash{}, nil
	}
	h := Hash{Passes: passes, Salt: make([]byte, 16)}
	rand.Read(h.Salt) // It never fails.
	key, err := pbkdf2.Key(sha256.New, password, h.Salt, h.Passes, sha256.Size)
	h.Key = key
	return h, err
}

// matches reports whether password has the hash h.
func (h Hash) matches(password string) (bool, error) {
	if len(h.Key) == 0 {
		return false, nil
	}
	key, err := pbkdf2.Key(sha256.New, password, h.Salt, h.Passes, len(h.Key))
	return subtle.ConstantTimeCompare(key, h.Key) == 1, err
}
