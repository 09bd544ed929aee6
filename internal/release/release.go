// Package release says which release of itself a program is.
package release

import (
	"runtime/debug"
	"strings"
)

// Name names the release that this program was built of: the first characters of the revision,
// or else the version of its module; "" if the build says neither. What was changed since the
// revision shows as "+dirty".
func Name() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return nameIn(info)
}

// revisionChars is how many characters of a revision are shown.
const revisionChars = 7

func nameIn(info *debug.BuildInfo) string {
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	revision := settings["vcs.revision"]
	switch {
	case revision == "":
		return strings.TrimPrefix(info.Main.Version, "(devel)")
	case settings["vcs.modified"] == "true":
		return short(revision) + "+dirty"
	}
	return short(revision)
}

func short(revision string) string { return revision[:min(revisionChars, len(revision))] }
