package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// secrets are what only the app and its user may know. Those that were not given
// are made at the first start and kept in the data directory, readable by this
// user only.
type secrets struct {
	session [][]byte // signs the cookies of sessions
	demo    string   // the password of the demo members
}

const keySize = 32

func openSecrets(set settings) (secrets, error) {
	text := set.key
	if text == "" {
		var err error
		if text, err = kept(set.data, "session.key", func() string { return hex.EncodeToString(kv.RandomBytes(keySize)) }); err != nil {
			return secrets{}, err
		}
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != keySize {
		return secrets{}, fmt.Errorf("the session key, from %s or %s: want %d hex digits", keyVariable, filepath.Join(set.data, "session.key"), 2*keySize)
	}
	password, err := kept(set.data, "demo-password", rand.Text)
	return secrets{[][]byte{key}, password}, err
}

// kept returns the secret in the named file of dir. If there is no such file, it
// writes one with a fresh secret. Of several processes that do so at the same
// time, one writes the secret and the others return it.
func kept(dir, name string, fresh func() string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(path)
		return strings.TrimSpace(string(text)), err
	}
	if err != nil {
		return "", err
	}
	secret := fresh()
	_, err = fmt.Fprintln(file, secret)
	return secret, errors.Join(err, file.Close())
}
