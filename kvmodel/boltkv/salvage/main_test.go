package main

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

func TestReport_ListsWhatWasLost(t *testing.T) {
	var out strings.Builder
	report(&out, boltkv.Salvaged{Items: 5, Damaged: []string{"a b"}, Missing: 2, Pages: []string{"page 7: torn"}, Logs: []string{"x.log0: cut off"}})
	report(&out, boltkv.Salvaged{Items: 5, Missing: -1})
	want := `page 7: torn
x.log0: cut off
damaged: "a b"
5 items salvaged, 1 damaged, 2 missing
5 items salvaged, 0 damaged, an unknown number of missing
`
	if got := out.String(); got != want {
		t.Errorf("the report is\n%s, want\n%s", got, want)
	}
}
