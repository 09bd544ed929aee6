// Package release determines the releases of ringtree and of the running program.
package release

import (
	"runtime/debug"
	"strings"
)

// Version is the release of ringtree that this code is, or becomes when it is tagged.
const Version = "v0.1.0"

// Name returns the first characters of the revision that this program was built from, or else the
// version of its module, or "" if the build records neither. Uncommitted changes show as "+dirty".
func Name() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return nameIn(info)
}

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
