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

// used returns the processor time of this process.
func used(t *testing.T) time.Duration {
	t.Helper()
	var all syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &all))
	return time.Duration(all.Utime.Nano() + all.Stime.Nano())
}

// Ten times as many values take about ten times as long. Comparing each with all others took a
// hundred times as long.
func TestIndex_ManyValuesCostTheirNumberAndNotItsSquare(t *testing.T) {
	for name, plug := range wordIndexes {
		all := kvmodel.NewRecords(open(t, memkv.New(memkv.Options{})), wordNotes(name))
		plug(all, 0, func(*note) bool { return true }, kvmodel.StringKey[string]())
		// Many records, because the clock of processor time may be coarse.
		const values = 10_000
		took := map[int]time.Duration{}
		for _, n := range []int{100, 1000} {
			began := used(t)
			for try := range values / n {
				id := fmt.Sprint(n, "-", try)
				must(t, all.Create(t.Context(), &note{ID: id, Text: words(n)}))
				_, err := all.Update(t.Context(), id, func(n *note) error { n.Text += " more"; n.Text = n.Text[3:]; return nil })
				must(t, err)
				must(t, all.Delete(t.Context(), id))
			}
			took[n] = used(t) - began
		}
		t.Logf("%-8s %d values created, changed and deleted in records of 100 and of 1,000: %v, %v of processor time", name, values, took[100], took[1000])
		if ratio := float64(took[1000]) / float64(took[100]); ratio > 3 {
			t.Errorf("%s: values take %.0f times as long in records of 1,000 as in records of 100", name, ratio)
		}
	}
}
