package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// shipped returns a directory to which a store was shipped that has one key.
func shipped(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s, err := boltkv.Open(filepath.Join(dir, "store.db"), boltkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go s.Follow(context.Background(), boltkv.Dir(filepath.Join(dir, "shipped")))
	for s.Stats().Shipping.Snapshot.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if _, err := kv.One(t.Context(), s, kv.OpSet("key", nil)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "shipped")
}

func TestRun_MakesStoresThatOpen(t *testing.T) {
	dir := shipped(t)
	for verb, says := range map[string]string{"restore": "commits since: 1", "promote": "(term 2)"} {
		path := filepath.Join(t.TempDir(), "made.db")
		var out, errs strings.Builder
		if status := run(t.Context(), []string{verb, dir, path}, &out, &errs); status != 0 || !strings.Contains(out.String(), says) {
			t.Errorf("%s: status %d, %q, %q; want it to say %q", verb, status, out.String(), errs.String(), says)
			continue
		}
		s, err := boltkv.Open(path, boltkv.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kv.One(t.Context(), s, kv.OpGet("key")); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestRun_SaysWhatIsWrong(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, test := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, 2, "usage: boltfolder"},
		{[]string{"mend", none, "a.db"}, 2, "usage: boltfolder"},
		{[]string{"restore", none, "a.db", "yesterday"}, 2, `TIME "yesterday" is not as in`},
		{[]string{"restore", none, none + ".db"}, 1, "nothing was shipped to the folder yet"},
		{[]string{"promote", none, none + ".db"}, 1, "nothing was shipped to the folder yet"},
	} {
		var out, errs strings.Builder
		if status := run(t.Context(), test.args, &out, &errs); status != test.status || !strings.Contains(errs.String(), test.says) {
			t.Errorf("%q: status %d, %q; want %d and %q", test.args, status, errs.String(), test.status, test.says)
		}
		if _, err := os.Stat(none + ".db"); err == nil {
			t.Errorf("%q: something was made", test.args)
		}
	}
}
