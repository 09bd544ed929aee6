package sizing

import (
	"flag"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

var update = flag.Bool("update", false, "write the tables in docs again")

const (
	page  = "../../docs/sizing.md"
	begin = "<!-- sizes: written by make docs -->\n\n"
	end   = "\n<!-- end of sizes -->"
)

func TestTables_OfThePageAreCurrent(t *testing.T) {
	measured, err := Tables(t.Context())
	proof.Must(t, err)
	text, err := os.ReadFile(page)
	proof.Must(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	stored, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatal("docs/sizing.md has no place for the tables")
	}
	if *update {
		stored = measured
		proof.Must(t, os.WriteFile(page, []byte(before+begin+measured+end+after), 0o644))
	}
	was, is := strings.Split(stored, "\n"), strings.Split(measured, "\n")
	if len(was) != len(is) {
		t.Fatalf("docs/sizing.md has %d lines of tables, and %d are measured: make docs writes them again", len(was), len(is))
	}
	for i := range was {
		if !agree(was[i], is[i]) {
			t.Errorf("docs/sizing.md is not what is measured: make docs writes it again\n- %s\n+ %s", was[i], is[i])
		}
	}
}

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// agree allows numbers to differ by a tenth, or by a little: where a list or a tree is divided
// depends on chance.
func agree(a, b string) bool {
	if number.ReplaceAllString(a, "") != number.ReplaceAllString(b, "") {
		return false
	}
	x, y := number.FindAllString(a, -1), number.FindAllString(b, -1)
	for i := range x {
		m, _ := strconv.ParseFloat(x[i], 64)
		n, _ := strconv.ParseFloat(y[i], 64)
		if low, high := min(m, n), max(m, n); high-low > low/10+.02 {
			return false
		}
	}
	return true
}
