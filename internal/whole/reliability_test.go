package whole_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

var reliability = flag.String("reliability", "", "go through all of each matrix, and write it into this `FILE`, docs/reliability-matrices.md")

const (
	reliabilityPage = "../../docs/reliability-matrices.md"
	promisesPage    = "../../docs/reliability.md"
)

type sheet struct {
	corner        string
	rows, columns []string
	cells         map[[2]string][]string // by row and column; several worlds may share a place
	unnoticed     int                    // cells in which nothing can be noticed
}

func (s *sheet) put(row, column, word string) {
	if s.cells == nil {
		s.cells = map[[2]string][]string{}
	}
	if !slices.Contains(s.rows, row) {
		s.rows = append(s.rows, row)
	}
	if !slices.Contains(s.columns, column) {
		s.columns = append(s.columns, column)
	}
	at := [2]string{row, column}
	s.cells[at] = append(s.cells[at], word)
}

func (s *sheet) merge() {
	for at, words := range s.cells {
		first := slices.MinFunc(words, func(a, b string) int { return slices.Index(findings, worst(a)) - slices.Index(findings, worst(b)) })
		s.cells[at] = []string{first}
	}
}

var findings = []string{"WRONG", "less", "says so", "right"}

func worst(word string) string {
	return findings[slices.IndexFunc(findings, func(kind string) bool { return strings.Contains(word, kind) })]
}

func (s *sheet) summary() string {
	n, all := map[string]int{}, 0
	for _, words := range s.cells {
		for _, word := range words {
			n[worst(word)]++
			all++
		}
	}
	return fmt.Sprintf("**%d cells**: right %d, says so %d, less %d, wrong and silent %d; not noticeable %d.",
		all+s.unnoticed, n["right"], n["says so"], n["less"], n["WRONG"], s.unnoticed)
}

var summaries = regexp.MustCompile(`\*\*(\d+) cells\*\*: right (\d+), says so (\d+), less (\d+), wrong and silent (\d+); not noticeable (\d+)`)

func (s *sheet) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n| %s | %s |\n|---%s|\n", s.summary(), s.corner, strings.Join(s.columns, " | "), strings.Repeat("|---", len(s.columns)))
	for _, row := range s.rows {
		fmt.Fprintf(&text, "| %s |", row)
		for _, column := range s.columns {
			words := s.cells[[2]string{row, column}]
			if len(slices.Compact(slices.Clone(words))) == 1 {
				words = words[:1]
			}
			fmt.Fprintf(&text, " %s |", strings.Join(words, " / "))
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func publish(t *testing.T, name string, s *sheet, more string) {
	t.Helper()
	t.Log(s.summary())
	if *reliability == "" {
		return
	}
	page := string(read(t, *reliability))
	page = replaced(t, page, name, s.markdown()+more)
	sums := make([]int, 6)
	for _, found := range summaries.FindAllStringSubmatch(page, -1) {
		for i := range sums {
			n, err := strconv.Atoi(found[i+1])
			must(t, err)
			sums[i] += n
		}
	}
	total := fmt.Sprintf("All matrices together have %d cells: %d are right, %d say so, %d show less, **%d are wrong and silent**, and in %d nothing can be noticed.\n",
		sums[0], sums[1], sums[2], sums[3], sums[4], sums[5])
	promises := replaced(t, string(read(t, promisesPage)), "total", total)
	must(t, os.WriteFile(*reliability, []byte(replaced(t, page, "total", total)), 0o644))
	must(t, os.WriteFile(promisesPage, []byte(promises), 0o644))
}

func replaced(t *testing.T, page, name, text string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s: written by make docs -->\n", name), fmt.Sprintf("<!-- end of %s -->", name)
	before, rest, ok := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("the page has no place for %s", name)
	}
	return before + begin + "\n" + text + "\n" + end + after
}

func proveAll() error {
	if *reliability == "" {
		return nil
	}
	if part := os.Getenv(proof.Prove); part != "" && part != "all" {
		return fmt.Errorf("-reliability needs all of each matrix, and %s is %s", proof.Prove, part)
	}
	return os.Setenv(proof.Prove, "all")
}

func TestReliability_ThePageHasEveryMatrixAndEveryLimit(t *testing.T) {
	page := string(read(t, reliabilityPage))
	for _, name := range []string{"faults", "losses", "damage", "lost servers", "two releases"} {
		_, part, _ := strings.Cut(page, "<!-- "+name+": written by make docs -->")
		part, _, ended := strings.Cut(part, "<!-- end of "+name+" -->")
		if n := len(summaries.FindAllString(part, -1)); !ended || n != 1 && !strings.Contains(part, "not run yet") {
			t.Errorf("the part of %s has %d matrices", name, n)
		}
	}
	_, limits, _ := strings.Cut(page, "## Limits")
	limits, _, _ = strings.Cut(limits, "\n## ")
	for _, m := range []matrix{losses, damage} {
		for class, limit := range m.limits {
			if limit.until > 0 && !strings.Contains(limits, "`"+class+"`") {
				t.Errorf("the limits do not name the class %q of the matrix of %s", class, m.name)
			}
			if limit.digit && !strings.Contains(page, "| `"+class+"` | another digit of ") {
				t.Errorf("the page does not say that another digit of the class %q is not noticed", class)
			}
		}
	}
	for cell := range faultLimits {
		proof.Contains(t, limits, cell[0])
	}
}

func TestReliability_ThePromisesHaveTheTotalOfTheMatrices(t *testing.T) {
	_, total, _ := strings.Cut(string(read(t, reliabilityPage)), "<!-- total: written by make docs -->")
	total, _, ended := strings.Cut(total, "<!-- end of total -->")
	if page := string(read(t, promisesPage)); !ended || !strings.Contains(page, total) {
		t.Errorf("%s lacks %q", promisesPage, total)
	}
}
