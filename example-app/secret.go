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
)

// secrets are what nobody else may know. Those that are not given are made at
// the first start and kept in the data directory, for this user alone.
type secrets struct {
	session [][]byte // signs the cookies of sessions
	demo    string   // the password of the demo members
}

const keySize = 32

func openSecrets(set settings) (secrets, error) {
	text := set.key
	if text == "" {
		var err error
		if text, err = kept(set.data, "session.key", func() string { return hex.EncodeToString(random(keySize)) }); err != nil {
			return secrets{}, err
		}
	}
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != keySize {
		return secrets{}, fmt.Errorf("the session key, from %s or %s: want %d digits of hex", keyVariable, filepath.Join(set.data, "session.key"), 2*keySize)
	}
	password, err := kept(set.data, "demo-password", rand.Text)
	return secrets{[][]byte{key}, password}, err
}

// kept returns the secret in the file called name of dir, which is made by fresh
// if it is not there.
func kept(dir, name string, fresh func() string) (string, error) {
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return keep(dir, path, fresh())
	}
	return strings.TrimSpace(string(text)), err
}

// keep writes secret to a new file at path, unless another process was faster:
// then its secret counts.
func keep(dir, path, secret string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		text, err := os.ReadFile(path)
		return strings.TrimSpace(string(text)), err
	}
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(file, secret)
	return secret, errors.Join(err, file.Close())
}

func random(n int) []byte {
	b := make([]byte, n)
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b)
	return b
}
