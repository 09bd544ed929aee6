package inspect

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

var command = regexp.MustCompile("(?m)(?:^    \\$ |^    |`)db ([a-z-][^`\n]*)")

func TestDocs_EveryCommandIsOne(t *testing.T) {
	for page, least := range map[string]int{"operations": 40, "deploying": 2} {
		t.Run(page, func(t *testing.T) { everyCommandIsOne(t, page, least) })
	}
}

func everyCommandIsOne(t *testing.T, page string, least int) {
	text, err := os.ReadFile("../docs/" + page + ".md")
	proof.Must(t, err)
	calls := command.FindAllStringSubmatch(string(text), -1)
	if len(calls) < least {
		t.Fatalf("only %d commands were found", len(calls))
	}
	for _, call := range calls {
		args := slices.DeleteFunc(strings.Fields(call[1]), func(arg string) bool { return arg == "VERB" || arg == "lists" })
		c := newCall(Config{Name: "db", Args: args})
		if err := c.parse(t.Context()); err != nil {
			t.Errorf("db %s: %v", call[1], err)
		}
	}
}
