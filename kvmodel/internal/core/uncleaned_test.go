package core

import (
	"fmt"
	"testing"
)

func TestUncleaned_RemembersSoManyRecordsAndNoMore(t *testing.T) {
	var u uncleaned
	for i := range 3 * maxUncleaned {
		u.Note(fmt.Sprint(i), uint64(i))
	}
	if len(u.revs) != maxUncleaned {
		t.Errorf("%d records are remembered, want %d", len(u.revs), maxUncleaned)
	}
	last := fmt.Sprint(3*maxUncleaned - 1)
	if got := u.Past(last); got != 3*maxUncleaned-1 {
		t.Errorf("the rev of the last is %d", got)
	}
	for i := range 3 * maxUncleaned {
		u.Forget(fmt.Sprint(i)) // Most are forgotten already.
	}
	if len(u.revs) != 0 || u.Past(last) != 0 {
		t.Errorf("%d records are left", len(u.revs))
	}
}
