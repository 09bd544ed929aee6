package proof

import (
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Fixer is the process that comes in a sweep when all others have ended, and repairs.
const Fixer = "fixer"

// Spared reports whether a fault at m shows nothing in a sweep of changes: it keeps the
// Fixer from a whole pass, or keeps a change from its first write, since a model cannot
// be opened. To open a model has sweeps of its own.
func Spared(m kvtest.Moment) bool {
	switch kind, _, _ := strings.Cut(m.Op.Key, ":"); kind {
	case "built", "procs":
		return true
	case "ids":
		return m.Client == Fixer || m.Op.Kind == kv.Get || !strings.Contains(m.Op.Key, "#")
	}
	return m.Client == Fixer
}
