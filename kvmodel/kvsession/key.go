package kvsession

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
