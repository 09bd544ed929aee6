package boltkv_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestModules_AProgramOnAFileLinksFew(t *testing.T) {
	const root = "github.com/ringtree/ringtree"
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", root+"/kvmodel", root+"/kvmodel/boltkv").Output()
	check(err)
	modules := slices.Compact(slices.Sorted(slices.Values(strings.Fields(string(out)))))
	if len(modules) > 6 || !slices.Contains(modules, root) {
		t.Errorf("linked are %q, want at most 6 modules", modules)
	}
}
