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

	"github.com/ringtree/ringtree/kvmodel/kvsession"
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
	if err := os.MkdirAll(set.data, 0o700); err != nil {
		return secrets{}, err
	}
	key, err := sessionKey(set)
	if err != nil {
		return secrets{}, err
	}
	password, err := kept(filepath.Join(set.data, "demo-password"))
	return secrets{[][]byte{key}, password}, err
}

// sessionKey returns the key that set has, or the one in the data directory.
func sessionKey(set settings) ([]byte, error) {
	if set.key == "" {
		return kvsession.KeyIn(filepath.Join(set.data, "session.key"))
	}
	key, err := hex.DecodeString(set.key)
	if err != nil || len(key) != keySize {
		return nil, fmt.Errorf("the session key in %s: want %d hex digits", keyVariable, 2*keySize)
	}
	return key, nil
}

// kept returns the secret in the file at path. If there is no such file, it writes
// one with a new secret. Of several processes that do so at the same time, one
// writes the secret and the others return it.
func kept(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(path)
		return strings.TrimSpace(string(text)), err
	}
	if err != nil {
		return "", err
	}
	secret := rand.Text()
	_, err = fmt.Fprintln(file, secret)
	return secret, errors.Join(err, file.Close())
}
