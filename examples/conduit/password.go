package conduit

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
)

type Hash struct {
	Passes int
	Salt   []byte
	Key    []byte
}

// hashOf returns an empty hash for an empty password.
func hashOf(password string, passes int) (Hash, error) {
	if password == "" {
		return Hash{}, nil
	}
	h := Hash{Passes: passes, Salt: make([]byte, 16)}
	rand.Read(h.Salt)
	key, err := pbkdf2.Key(sha256.New, password, h.Salt, h.Passes, sha256.Size)
	h.Key = key
	return h, err
}

func (h Hash) matches(password string) (bool, error) {
	if len(h.Key) == 0 {
		return false, nil
	}
	key, err := pbkdf2.Key(sha256.New, password, h.Salt, h.Passes, len(h.Key))
	return subtle.ConstantTimeCompare(key, h.Key) == 1, err
}
