package kvsession_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

func TestKeyIn_GivesAllProcessesTheKeyThatOneHasMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "session.key")
	var keys [8][]byte
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = kvsession.KeyIn(file); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Errorf("keys %x and %x, want one of 32 bytes", keys[0], key)
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the mode is %v, want 0600 (%v)", info.Mode(), err)
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("it leaves %v, want the key alone", left)
	}
}

func TestKeyIn_RefusesWhatIsNoKey(t *testing.T) {
	for _, text := range []string{"", "secret", strings.Repeat("00", 31)} {
		file := filepath.Join(t.TempDir(), "session.key")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		if key, err := kvsession.KeyIn(file); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("%q is the key %x (%v), want an error", text, key, err)
		}
	}
	if _, err := kvsession.KeyIn(filepath.Join(t.TempDir(), "none", "key")); err == nil {
		t.Error("a folder that is not there passes")
	}
}
