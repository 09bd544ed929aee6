package inspect

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

func TestExport_ABlockThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	var out bytes.Buffer
	w := &exportWriter{to: &out}
	err := w.block(itemsBlock, make([]byte, mostBytes+1))
	if err == nil || !strings.Contains(err.Error(), "67108865 bytes, at most 67108864") || out.Len() > 0 {
		t.Errorf("want an error that names the size and the limit, and no output, got %v and %d bytes", err, out.Len())
	}
}

func TestCell_TimesAreUTCAndWhatIsNestedIsJSON(t *testing.T) {
	at := time.Date(2026, 3, 1, 13, 0, 0, 5000, time.FixedZone("", 3600))
	for want, v := range map[string]any{
		"":                            nil,
		`a "b" & <c>`:                 `a "b" & <c>`,
		"2026-03-01T12:00:00.000005Z": at,
		"aGVyb24=":                    []byte("heron"),
		"-7":                          int64(-7),
		"18446744073709551615":        uint64(math.MaxUint64),
		"true":                        true,
		"0.1":                         0.1,
		"NaN":                         math.NaN(),
		`[null]`:                      []any{time.Time{}},
		`[1,"&",null,"2026-03-01T12:00:00.000005Z","aGVyb24="]`: []any{int64(1), "&", nil, at, []byte("heron")},
		`{"a":{"at":"2026-03-01T12:00:00.000005Z"},"b":"+Inf"}`: map[string]any{"b": math.Inf(1), "a": map[string]any{"at": at}},
	} {
		if got, err := cellOf(v); err != nil || got != want {
			t.Errorf("want %s, got %s, %v", want, got, err)
		}
	}
}
