package apptest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestKill_LeavesWhatTheHoodShowsAndNoPage(t *testing.T) {
	for what, test := range map[string]struct {
		store kv.Store
		stale string
	}{
		"single keys":  {kvfault.SingleKeys(memkv.New(memkv.Options{})), "1 stale"},
		"transactions": {openStore(t, "bolt:"+filepath.Join(t.TempDir(), "app.db")), "0 stale"},
	} {
		if _, err := demo.Fill(t.Context(), test.store, demo.Plan{Pages: 20}); err != nil {
			t.Fatal(err)
		}
		guest := open(t, test.store).visitor()
		hood := guest.post("/hood/kill").header.Get("Location")
		guest.want(guest.get(hood), 200, "20 filled", test.stale, "A writer was killed")
		for _, path := range []string{"/newest", "/p/a-page-that-nobody-sees", "/t/walks", "/search?q=a+page"} {
			if body := guest.get(path).body; strings.Contains(body, "A page that nobody sees") {
				t.Errorf("%s, %s: want no trace of the page, got:\n%s", what, path, shown(body))
			}
		}
	}
}
