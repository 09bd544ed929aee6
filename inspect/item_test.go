package inspect

import "testing"

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
