package journal

import (
	"testing"
	"time"
)

var started = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestOrigin_IsCalledByWhatIsKnown(t *testing.T) {
	for _, test := range []struct {
		want   string
		origin Origin
		after  time.Duration
	}{
		{"web-1 pid 4121 (release a3f19c2, since 3 h)", Origin{"web-1", 4121, "a3f19c2", started}, 3*time.Hour + 59*time.Minute},
		{"web-1 pid 4121 (since 9 d)", Origin{"web-1", 4121, "", started}, 9*24*time.Hour + time.Hour},
		{"pid 7 (release v1, since 1 min)", Origin{"", 7, "v1", started}, time.Minute},
		{"web-1 pid 7 (since 0 s)", Origin{"web-1", 7, "", started}, -time.Hour},
		{"THENAME", Origin{}, time.Hour},
	} {
		if got := test.origin.Called("THENAME", started.Add(test.after)); got != test.want {
			t.Errorf("want %q, got %q", test.want, got)
		}
	}
}

func TestOrigin_TextReadsBackAndIsNoShape(t *testing.T) {
	for _, want := range []Origin{
		{"web-1", 4121, "a3f19c2", started}, {"", 1, "", started}, {"a b=c", 2, "release 1 = 2 %", started},
	} {
		got, ok := readOrigin(want.text())
		if !ok || got.Since.Unix() != want.Since.Unix() || got.Host != want.Host || got.PID != want.PID || got.Release != want.Release {
			t.Errorf("want %+v, got %+v, %v of %q", want, got, ok, want.text())
		}
		c := Copy{head: head{shapes: []string{want.text()}}}
		if models := c.Models(); len(models) > 0 {
			t.Errorf("%q is taken for the shape of %q", want.text(), models)
		}
	}
	for _, text := range []string{"Page=0a1b", "handles Page", "runs", "runs ", "runs a b c d", "runs a 1 2", "runs a 1 2 3 4", "runs %zz 1 2 x"} {
		if o, ok := readOrigin(text); ok {
			t.Errorf("%q is taken for %+v", text, o)
		}
	}
}

func TestOrigin_TakesFewBytes(t *testing.T) {
	o := Origin{"web-1.example.org", 4121, "a3f19c2", started}
	if n := len(head{origin: o}.encode()) - len(head{}.encode()); n > 128 {
		t.Errorf("%d bytes, want at most 128", n)
	}
}
