package whole_test

import (
	"testing"

	"github.com/ringtree/ringtree/internal/whole"
)

func TestLong_EverNewIDsLeaveNothingUndone(t *testing.T) {
	l, err := whole.NewLong()
	must(t, err)
	must(t, l.Run(ctx, 3000))
	if s := l.DB.Stats(); s.Background != 0 || s.Waiting != 0 || s.Lines != 0 || s.InDoubt != 0 || s.Failed != 0 {
		t.Errorf("stats %+v", s)
	}
	if n := l.Memory(); n == 0 {
		t.Error("no memory is in use")
	}
	must(t, l.Close(ctx))
}
