package english

import (
	"testing"
	"time"
)

func TestNearest_TakesSlipsOnly(t *testing.T) {
	words := []string{"id", "unique", "list", "timeline", "version"}
	for wrong, want := range map[string]string{
		"uniqe": "unique", "unqiue": "unique", "Unique": "unique", "lst": "list", "verison": "version", "idd": "id",
		"": "", "zebra": "", "rank": "", "x": "",
	} {
		if got := Nearest(wrong, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", wrong, got, want)
		}
	}
}

func TestOr_PutsCommasBeforeTheLastWord(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := Or(words); got != want {
			t.Errorf("Or(%q) = %q, want %q", words, got, want)
		}
	}
}

func TestDuration_LeavesOutTheUnitsThatAreZero(t *testing.T) {
	for d, want := range map[time.Duration]string{
		720 * time.Hour: "720h", 90 * time.Minute: "1h30m", 10 * time.Minute: "10m", 20 * time.Second: "20s",
		time.Hour + time.Second: "1h0m1s", 1500 * time.Millisecond: "1.5s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %s, want %s", d, got, want)
		}
	}
}
