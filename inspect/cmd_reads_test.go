package inspect_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A DB that opens the file to write, with indexes, builds these.
func unbuilt(t *testing.T, path string) {
	t.Helper()
	s := boltStore(t, "bolt:"+path)
	db := open(t, s)
	all := bareNotes(db)
	for _, id := range []string{"n1", "n2"} {
		must(t, all.Create(t.Context(), &note{ID: id, Title: "of " + id, Tags: []string{"sea"}}))
	}
	must(t, db.Close(t.Context()))
}

func itemsIn(t *testing.T, path string) map[string]kv.Result {
	t.Helper()
	s := boltStore(t, "bolt:"+path)
	all := make(map[string]kv.Result)
	must(t, kv.PowersOf(s).Keys(t.Context(), "", func(keys []string) error {
		results, err := kv.GetAll(t.Context(), s, keys...)
		for i, key := range keys {
			all[key] = results[i]
		}
		return err
	}))
	must(t, s.Close())
	return all
}

// By the end of the minute, a DB has done all it does by itself.
func waiting(c inspect.Config) inspect.Config {
	c.Models = func(db *kvmodel.DB) []kvmodel.Model {
		all := models(db)
		time.Sleep(time.Minute)
		return all
	}
	return c
}

// A verb that writes takes --yes, and with --dry-run it only reads.
func TestVerbs_ThatReadLeaveAFileAsItIs(t *testing.T) {
	inTime(t, func(t *testing.T) {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		calls := map[string][]string{
			"status": {"--deep"}, "ls": {"--sizes"}, "get": {"Note", "n1"}, "list": {"Note.ByTags/sea"}, "check": {"--repair"},
			"export": {at("export")}, "import": {at("export")}, "copy": {"mem:"},
			"backup": {at("backup")}, "restore": {at("backup"), at("restored.db")}, "verify": {"--against", at("export")},
			"compact": {at("unbuilt.db")}, "build": {}, "recover": {}, "sweep": {}, "forget": {"Note", "n1"},
		}
		verbs := inspect.Verbs()
		if diff := cmp.Diff(slices.Sorted(maps.Keys(verbs)), slices.Sorted(maps.Keys(calls))); diff != "" {
			t.Fatalf("say how each verb is called (-verbs +called)\n%s", diff)
		}
		path := at("unbuilt.db")
		unbuilt(t, path)
		want := itemsIn(t, path)
		file(t, path, "export", at("export")).want(t, 0)
		file(t, path, "backup", at("backup")).want(t, 0)
		fresh, err := os.ReadFile(path)
		must(t, err)
		calls["export"][0], calls["backup"][0] = at("export again"), at("backup again")
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			args := append([]string{name}, calls[name]...)
			if slices.Contains(verbs[name], "yes") {
				args = append(args, "--dry-run")
			}
			must(t, os.WriteFile(path, fresh, 0o600))
			c := waiting(on(nil, args...))
			c.URL, c.Open = "bolt:"+path, nil
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			r := runIn(ctx, c)
			cancel()
			if r.code == 2 || r.code == 3 {
				t.Errorf("%s: exit code %d, %s", name, r.code, r.errs)
			}
			if diff := cmp.Diff(want, itemsIn(t, path)); diff != "" {
				t.Errorf("%s has changed the file:\n%s", name, diff)
			}
		}
	})
}
