package boltkv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// abandoned returns the path of a store with n items as a crash of its process leaves it.
func abandoned(t *testing.T, n int) (path string) {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "open.db"), filepath.Join(dir, "store.db")
	s := openAt(t, from, Options{})
	for i := range n {
		one(t, s, kv.OpSet(keyAt(i), fmt.Append(nil, "value ", i)))
	}
	copyStore(t, from, to)
	must(s.Close())
	return to
}

func logOf(path string) string { return path + ".log1" }

func files(path string) map[string]string {
	all := make(map[string]string)
	for _, end := range []string{"", ".log0", ".log1"} {
		if data, err := os.ReadFile(path + end); err == nil {
			all[end] = string(data)
		}
	}
	return all
}

func change(path string, f func(data []byte) []byte) {
	must(os.WriteFile(path, f(need(os.ReadFile(path))), 0o600))
}

func TestOpen_LogThatDoesNotFitIsNamedAndNothingIsTouched(t *testing.T) {
	const n = 50
	for name, test := range map[string]struct {
		spoil func(t *testing.T, path string)
		says  string
	}{
		"no log":               {func(_ *testing.T, path string) { must(os.Remove(logOf(path))) }, "store.db.log1, which has its last commits, is missing"},
		"a log without a file": {func(_ *testing.T, path string) { must(os.Remove(path)) }, "the file is missing, but its log "},
		"the log of another store": {func(t *testing.T, path string) {
			must(os.WriteFile(logOf(path), need(os.ReadFile(logOf(abandoned(t, n)))), 0o600))
		}, "store.db.log1 is the log of another store"},
		"the log of another time": {func(_ *testing.T, path string) {
			log := need(os.ReadFile(logOf(path)))
			must(need(Open(path, Options{})).Close())
			s := need(Open(path, Options{}))
			copyStore(t, path, path+".again")
			must(s.Close())
			for end, data := range files(path + ".again") {
				must(os.WriteFile(path+end, []byte(data), 0o600))
			}
			must(os.Remove(path + ".log0"))
			must(os.WriteFile(logOf(path), log, 0o600))
		}, "is missing or of another time"},
		"a closed file with a later log": {func(t *testing.T, path string) {
			must(need(Open(path, Options{})).Close())
			closed := need(os.ReadFile(path))
			s := need(Open(path, Options{}))
			one(t, s, kv.OpSet("later", nil))
			copyStore(t, path, path+".again")
			must(s.Close())
			for end, data := range files(path + ".again") {
				must(os.WriteFile(path+end, []byte(data), 0o600))
			}
			must(os.WriteFile(path, closed, 0o600))
		}, "has 1 commits that it lacks"},
		"text": {func(_ *testing.T, path string) {
			must(os.WriteFile(logOf(path), bytes.Repeat([]byte("text\n"), 2000), 0o600))
		}, "it does not begin with \"ringtree log v1\\n\""},
		"a flipped header": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte { data[40] ^= 1; return data })
		}, "the checksum of its header does not match"},
		"a flipped record": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte { data[bytes.Index(data, []byte("value 7"))] ^= 1; return data })
		}, "record 8 at byte "},
		"a record that was overwritten": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte { clear(data[4096:4200]); return data })
		}, "record 1 at byte 4096 is damaged"},
		"records that were exchanged": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte {
				at := bytes.Index(data, []byte("value 20")) &^ 7
				return append(data[:at:at], append(bytes.Clone(data[at+160:at+320]), data[at+160:]...)...)
			})
		}, "is damaged, and "},
	} {
		t.Run(name, func(t *testing.T) {
			path := abandoned(t, n)
			test.spoil(t, path)
			before := files(path)
			s, err := Open(path, Options{})
			if err == nil {
				t.Fatalf("Open succeeded: %v", s.Close())
			}
			wantErr(t, err, ErrDamaged)
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %q, want it to name %s and to say %q", err, path, test.says)
			}
			for end, data := range files(path) {
				if data != before[end] && !(end == "" && before[end] == "") {
					t.Errorf("Open has changed store.db%s", end)
				}
			}
		})
	}
}

func TestOpen_TornEndOfALogIsDropped(t *testing.T) {
	path := abandoned(t, 3)
	change(logOf(path), func(data []byte) []byte {
		at := bytes.Index(data, []byte("value 2"))
		clear(data[at:])
		return data
	})
	s := openAt(t, path, Options{})
	one(t, s, kv.OpGet(keyAt(1)))
	wantGone(t, s, keyAt(2))
	one(t, s, kv.OpSet(keyAt(2), nil))
}

func TestOpen_LogWhoseBeginningDidNotEndIsNone(t *testing.T) {
	path := storeFile(t)
	for _, log := range [][]byte{nil, make([]byte, 10), make([]byte, 64<<10)} {
		must(os.WriteFile(path+".log0", log, 0o600))
		s := openAt(t, path, Options{})
		one(t, s, kv.OpGet(keyAt(1)))
		must(s.Close())
	}
}
