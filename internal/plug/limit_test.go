package plug_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestTooLong_CountsTheBytesThatTheAppGaveAndThoseOfTheText(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x", 2049):                    "an id of 2049 bytes, at most 2048",
		kv.JoinText(strings.Repeat("山", 228)):        "an id of 684 bytes, which are 2052 when escaped, at most 2048",
		kv.JoinText(strings.Repeat("a b", 600), "c"): "an id of 1802 bytes, which are 3002 when escaped, at most 2048",
	} {
		err := plug.TooLong("an id", text, 2048)
		if !errors.Is(err, kv.ErrTooLarge) || err.Error() != kv.ErrTooLarge.Error()+": "+want {
			t.Errorf("want %q, got %q", want, err)
		}
	}
}
