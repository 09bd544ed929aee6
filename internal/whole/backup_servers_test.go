package whole_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func redisIn(t *testing.T, dir string) (addr string, w *wire) {
	t.Helper()
	p := servers.Of(t, "redis-server", "--dir", dir)
	return p.Addr, dial(t, p.Addr)
}

func TestVerifyBackup_ARedisThatWasRestoredIsCheckedByOneCommand(t *testing.T) {
	dir := t.TempDir()
	addr, w := redisIn(t, dir)
	s, err := rediskv.Open(ctx, rediskv.Options{Addrs: []string{addr}})
	must(t, err)
	l := libraryIn(t, s)
	for i, id := range whole.WorkIDs {
		furnish(t, l, i, id)
	}
	must(t, l.DB.Close(ctx))
	w.send("SAVE\r\n")
	if got := w.line(); got != "+OK" {
		t.Fatal(got)
	}

	restored, w := redisIn(t, dir)
	verify := func(wantCode int, wants ...string) {
		t.Helper()
		var out bytes.Buffer
		code := inspect.Run(ctx, inspect.Config{
			Name: "db", Args: []string{"verify", "redis://" + restored}, Stdout: &out, Stderr: &out,
			Models: func(db *kvmodel.DB) []kvmodel.Model { whole.New(db); return nil },
		})
		for _, want := range wants {
			if code != wantCode || !strings.Contains(out.String(), want) {
				t.Errorf("exit code %d, and\n%s\nwant %d, and %q", code, out.String(), wantCode, want)
			}
		}
	}
	verify(0, "redis://"+restored+" is whole: ", ", the newest record of 2")
	for _, damage := range []struct{ command, want string }{
		{"DEL u:Work:BySlug:slug-w3", "is not whole, or not all of it could be checked: "},
		{"DEL format:ringtree", "has no data of this app: the key format:ringtree is missing"},
		{"FLUSHALL", "has no data of this app"},
	} {
		w.send("%s\r\n", damage.command)
		w.line()
		verify(1, damage.want)
	}
}
