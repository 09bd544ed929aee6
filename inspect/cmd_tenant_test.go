package inspect_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func shares(t testing.TB, tenants ...string) *memkv.Store {
	t.Helper()
	mem := furnished(t)
	for _, tenant := range tenants {
		s, err := kv.Prefix(shared(mem), tenant)
		must(t, err)
		fill(t, s)
	}
	return mem
}

func TestTenant_EachSeesItsKeysAlone(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := shares(t, "snow", "sno")
		own := run(t, furnished(t), "check").out
		for _, tenant := range []string{"snow", "sno"} {
			if r := run(t, mem, "check", "--tenant", tenant); r.code != 0 || !strings.HasPrefix(r.out, strings.TrimSuffix(own[:20], "\n")) {
				t.Errorf("%s: exit code %d\n%swant\n%s", tenant, r.code, r.out, own)
			}
			run(t, mem, "sweep", "--tenant", tenant, "--yes").want(t, 0, "there are no leftovers")
			if r := run(t, mem, "ls", "--sizes", "--tenant", tenant); strings.Contains(r.out, "foreign") {
				t.Errorf("%s: %s", tenant, r.out)
			}
		}
		before := len(mem.Keys())
		run(t, mem, "check").want(t, 0, "all is well", "not of this program's models")
		run(t, mem, "sweep", "--yes").want(t, 0)
		if after := len(mem.Keys()); after != before {
			t.Errorf("a sweep of no tenant has deleted %d keys of others", before-after)
		}
		run(t, mem, "copy", "test:there", "--tenant", "snow", "--to-tenant", "ice", "--yes").want(t, 0, "Note: 3 records\n")
		run(t, mem, "copy", "test:there", "--dry-run", "--tenant", "snow", "--to-tenant", "ice").want(t, 0, "identical: 4 items")
		run(t, mem, "check", "--tenant", "ice").want(t, 0, "all is well")
		file := filepath.Join(t.TempDir(), "snow.export")
		run(t, mem, "export", file, "--tenant", "snow").want(t, 0, "Note: 3 records\n", "exported, with 0 items that belong to no record")
		run(t, mem, "verify", "--against", file, "--tenant", "snow").want(t, 0, "identical: 4 items")
		run(t, mem, "forget", "Note", "n1", "--tenant", "snow", "--yes").want(t, 0, "Note n1 is erased")
		run(t, mem, "verify", "--against", file, "--tenant", "snow").want(t, 1, "only there Note n1")
		run(t, mem, "get", "Note", "n1", "--tenant", "sno").want(t, 0)
		run(t, mem, "get", "Note", "n1").want(t, 0)
	})
}
