package whole_test

import (
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
)

func TestLong_EverNewIDsLeaveNothingUndoneAndTakeNoMoreMemory(t *testing.T) {
	l, err := whole.NewLong()
	must(t, err)
	const calls = 3000
	var memory []int
	for range proof.Rounds(t, 1, 3000) {
		must(t, l.Run(ctx, calls*(len(memory)+1)))
		memory = append(memory, l.Memory())
	}
	if s := l.DB.Stats(); s.Background != 0 || s.Waiting != 0 || s.Lines != 0 || s.InDoubt != 0 || s.Failed != 0 {
		t.Errorf("stats %+v", s)
	}
	must(t, l.Close(ctx))
	early, most := slices.Max(memory[:(len(memory)+9)/10]), slices.Max(memory)
	t.Logf("%d calls: %d MB in use at most, %d MB in the first tenth of them", calls*len(memory), most>>20, early>>20)
	if len(memory) >= 1000 && most > early+early/10 {
		t.Error("memory goes on growing")
	}
}
