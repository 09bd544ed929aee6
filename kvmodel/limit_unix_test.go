//go:build unix

package kvmodel_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// cpu returns the processor time that f takes: the least of some calls.
func cpu(t *testing.T, f func(n int)) time.Duration {
	t.Helper()
	least := time.Hour
	for n := range 7 {
		began := used(t)
		f(n)
		least = min(least, used(t)-began)
	}
	return least
}

// used returns the processor time that this process has used.
func used(t *testing.T) time.Duration {
	t.Helper()
	var all syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &all))
	return time.Duration(all.Utime.Nano() + all.Stime.Nano())
}

// Ten times as many values take about ten times as long. When each was compared with all others,
// it was a hundred times.
func TestIndex_ManyValuesCostTheirNumberAndNotItsSquare(t *testing.T) {
	for name, plug := range wordIndexes {
		all := kvmodel.NewRecords(open(t, memkv.New(memkv.Options{})), wordNotes(name))
		plug(all, 0, func(*note) bool { return true }, kvmodel.StringKey[string]())
		took := map[int]time.Duration{}
		for _, n := range []int{100, 300, 1000} {
			took[n] = cpu(t, func(try int) {
				id := fmt.Sprint(n, "-", try)
				must(t, all.Create(t.Context(), &note{ID: id, Text: words(n)}))
				_, err := all.Update(t.Context(), id, func(n *note) error { n.Text += " more"; n.Text = n.Text[3:]; return nil })
				must(t, err)
				must(t, all.Delete(t.Context(), id))
			})
		}
		t.Logf("%-8s created, changed and deleted with 100, 300, 1,000 values: %v, %v, %v of processor time", name, took[100], took[300], took[1000])
		if ratio := float64(took[1000]) / float64(took[100]); ratio > 30 {
			t.Errorf("%s: 1,000 values take %.0f times as long as 100", name, ratio)
		}
	}
}
