package console

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestProgress_OnATerminalOneLineIsWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		c := New(strings.NewReader(""), io.Discard, &errs)
		c.Live = true
		for range 2 {
			time.Sleep(50 * time.Millisecond)
			c.Progress("half")
		}
		time.Sleep(time.Second)
		c.Progress("whole")
		c.Note("well")
		c.Done()
		if got, want := errs.String(), "half\r\x1b[Kwhole\r\x1b[Kwell\n"; got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	})
}

func TestProgress_ElsewhereThereIsALineEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		c := New(strings.NewReader(""), io.Discard, &errs)
		for range 25 {
			time.Sleep(time.Second)
			c.Progress("more")
		}
		if got, want := errs.String(), "more\nmore\n"; got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	})
}

func TestAsk_OnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]bool{"y\n": true, "Yes\n": true, "yes": true, "n\n": false, "\n": false, "": false, "yesterday\n": false} {
		proof.Equal(t, New(strings.NewReader(answer), io.Discard, io.Discard).Ask(t.Context(), "go on?"), want, "%q", answer)
	}
}

func TestAsk_EndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	never, _ := io.Pipe()
	if New(never, io.Discard, io.Discard).Ask(ctx, "go on?") {
		t.Error("nobody has said yes")
	}
}

func TestTable_ColumnsAreAlignedAndLinesEndWithText(t *testing.T) {
	var out bytes.Buffer
	New(strings.NewReader(""), &out, io.Discard).Table([][]string{{"name", "n"}, {"Größe", "1", "x"}, {"", "22", ""}})
	if want := "name   n\nGröße  1   x\n       22\n"; out.String() != want {
		t.Errorf("want\n%s\ngot\n%s", want, out.String())
	}
}

func TestObject_HasItsVersionAndItsType(t *testing.T) {
	var out bytes.Buffer
	c := New(strings.NewReader(""), &out, io.Discard)
	for _, v := range []any{struct{}{}, struct{ A, B string }{"<x>", ""}} {
		c.Object("thing", v)
	}
	want := `{"v":1,"type":"thing"}` + "\n" + `{"v":1,"type":"thing","A":"<x>","B":""}` + "\n"
	if out.String() != want {
		t.Errorf("want\n%s\ngot\n%s", want, out.String())
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("%s is not JSON", line)
		}
	}
}

func TestFailed_KeepsTheFirstErrorOfTheOutput(t *testing.T) {
	c := New(strings.NewReader(""), full{}, io.Discard)
	c.Say("x")
	if c.Failed() != io.ErrShortWrite {
		t.Errorf("got %v", c.Failed())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestTexts_AreAsPeopleSayThem(t *testing.T) {
	for want, got := range map[string]string{
		"0": Number(0), "999": Number(999), "1,000": Number(1000), "12,345,678": Number(int64(12345678)),
		"-999": Number(-999), "-1,000": Number(-1000), "-123": Number(-123),
		"0 B": Size(0), "999 B": Size(999), "1.0 kB": Size(1000), "10 kB": Size(9960), "31 MB": Size(31_000_000), "1.0 MB": Size(999_600),
		"0.4 s": Span(400 * time.Millisecond), "12 s": Span(12_300 * time.Millisecond), "3m20s": Span(200 * time.Second), "2h5m": Span(2*time.Hour + 5*time.Minute),
		"1 key": Some(1, "key", "keys"), "0 keys": Some(0, "key", "keys"), "1,200 keys": Some(1200, "key", "keys"),
	} {
		proof.Equal(t, got, want, "got")
	}
}
