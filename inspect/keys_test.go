package inspect_test

import (
	"testing"

	"github.com/ringtree/ringtree/inspect"
)

// What sessions and limits have stored is no other program's.
func TestKey_OfSessionsAndLimitsIsKnown(t *testing.T) {
	db := open(t, furnished(t))
	for key, owner := range map[string]string{
		"session:x": "sessions", "sessions:heron": "sessions", "generation:heron": "sessions", "limit:sign-in-of:heron:7": "limits",
	} {
		got, err := inspect.New(db).Key(t.Context(), key)
		if err != nil || !got.Known || got.Owner != owner {
			t.Errorf("%s: want that of %s, got that of %q, known: %v, %v", key, owner, got.Owner, got.Known, err)
		}
	}
}
