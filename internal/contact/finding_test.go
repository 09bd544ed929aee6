package contact

import (
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func wantFinding(t *testing.T, got kv.Finding, is kv.Verdict, text string) {
	t.Helper()
	if got.Is != is || !strings.Contains(got.Text, text) {
		t.Errorf("want %s and %q, got %s and %q", is, text, got.Is, got.Text)
	}
}

func TestIsLocal_OnlyOfThisMachine(t *testing.T) {
	for addr, want := range map[string]bool{
		"localhost:6379": true, "127.0.0.1:6379": true, "[::1]:6379": true, "127.8.8.8": true,
		"10.0.0.1:6379": false, "cache-1:11211": false, "[2001:db8::1]:6379": false, "": false,
	} {
		if got := IsLocal(addr); got != want {
			t.Errorf("%q: want %v, got %v", addr, want, got)
		}
	}
}

func TestFindClock_OneThatIsOffIsAWarning(t *testing.T) {
	wantFinding(t, FindClock("a:1", time.Second, 0), kv.Fine, "to 1s")
	wantFinding(t, FindClock("a:1", -3*time.Second, time.Second), kv.Fine, "to 4s")
	wantFinding(t, FindClock("a:1", 61*time.Second, 0), kv.Hurts, "its clock is 1m1s ahead of that of this machine")
	wantFinding(t, FindClock("a:1", -5*time.Second, 0), kv.Hurts, "its clock is 5s behind that of this machine")
}

func TestFindMemory_OneThatIsNearlyFullIsAWarning(t *testing.T) {
	wantFinding(t, FindMemory("a:1", "maxmemory", 79, 100), kv.Fine, "79 %")
	wantFinding(t, FindMemory("a:1", "maxmemory", 80, 100), kv.Hurts, "raise maxmemory before it is full")
}
