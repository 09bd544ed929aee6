package whole_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// severalFailed is how an error that counts begins, and all of it is one line.
var severalFailed = regexp.MustCompile(`^flush: \d{3,} things failed and will not be tried again by this process: [^\n]*$`)

func TestFlood_AServerThatIsGoneForAMinuteIsNotLoggedByTheOp(t *testing.T) {
	t.Parallel()
	for kind, why := range map[string]error{"lost": kv.ErrLost, "unavailable": kv.ErrUnavailable, "unclear": kv.ErrUnclear} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, err := whole.RunFlood(ctx, 4, time.Minute, why)
				must(t, err)
				t.Logf("%d calls, %d lines, the longest of %d bytes, stats %+v", f.Calls, len(f.Lines), f.Longest(), f.Stats)
				t.Logf("Close: %v", f.Closed)
				if f.Calls < 5_000 {
					t.Errorf("only %d calls were made", f.Calls)
				}
				if len(f.Lines) > 100 || f.Longest() > 1000 {
					t.Errorf("%d lines, the longest of %d bytes; want at most 100 of 1,000:\n%.10000s", len(f.Lines), f.Longest(), strings.Join(f.Lines, ""))
				}
				if !slices.ContainsFunc(f.Lines, func(line string) bool {
					return strings.Contains(line, " times=") && strings.Contains(line, " model=") && strings.Contains(line, " index=") && strings.Contains(line, "kind="+kind)
				}) {
					t.Errorf("no line counts what failed, by model and index:\n%.5000s", strings.Join(f.Lines, ""))
				}
				if f.Stats.Failures[kind] == 0 || f.Stats.Lines > 0 && f.Stats.Oldest < 10*time.Second {
					t.Errorf("stats %+v", f.Stats)
				}
				if f.Closed == nil || !errors.Is(f.Closed, why) || !severalFailed.MatchString(f.Closed.Error()) || len(f.Closed.Error()) > 1000 {
					t.Errorf("Close: %v", f.Closed)
				}
			})
		})
	}
}
