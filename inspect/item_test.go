package inspect

import (
	"bytes"
	"strings"
	"testing"
)

func TestItem_ThePartsOfARecordHaveNamesOfTheirOwn(t *testing.T) {
	names := make(map[string]bool)
	for _, it := range []item{
		{kind: record, model: "Note", id: "n1"},
		{kind: counter, model: "Note", id: "n1", name: "Views"},
		{kind: history, model: "Note", id: "n1"},
	} {
		if names[it.of()] {
			t.Errorf("two are called %q", it.of())
		}
		names[it.of()] = true
	}
}

func TestExport_ABlockThatCouldNotBeReadAgainIsNotWritten(t *testing.T) {
	var out bytes.Buffer
	w := &exportWriter{to: &out}
	err := w.block(itemsBlock, make([]byte, mostBytes+1))
	if err == nil || !strings.Contains(err.Error(), "67108865 bytes, at most 67108864") || out.Len() > 0 {
		t.Errorf("want an error that names the size and the limit, and no output, got %v and %d bytes", err, out.Len())
	}
}
