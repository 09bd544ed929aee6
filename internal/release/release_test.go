package release

import (
	"runtime/debug"
	"testing"
)

func TestName_IsTheRevisionOrElseTheVersionOfTheModule(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "a3f19c2b774e"}
	for _, test := range []struct {
		want string
		info debug.BuildInfo
	}{
		{"", debug.BuildInfo{}},
		{"", debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}},
		{"v1.2.3", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}},
		{"a3f19c2", debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}}},
		{"a3f19c2+dirty", debug.BuildInfo{Settings: []debug.BuildSetting{revision, {Key: "vcs.modified", Value: "true"}}}},
		{"17", debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "17"}}}},
	} {
		if got := nameIn(&test.info); got != test.want {
			t.Errorf("want %q, got %q of %v", test.want, got, test.info)
		}
	}
}
