package proof

import (
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Fixer is the process in a sweep that starts when all others have ended, and repairs.
const Fixer = "fixer"

// Spared reports whether a fault at m would show nothing in a sweep of changes: it would prevent a
// whole pass of the Fixer, or the first write of a change because the model cannot be opened.
// Opening a model has its own sweeps.
func Spared(m kvtest.Moment) bool {
	switch kind, _, _ := strings.Cut(m.Op.Key, ":"); kind {
	case "built", "procs":
		return true
	case "ids":
		return m.Client == Fixer || m.Op.Kind == kv.Get || !strings.Contains(m.Op.Key, "#")
	}
	return m.Client == Fixer
}
