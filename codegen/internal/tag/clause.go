package tag

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
)

// Clause is a clause of a kv tag: word [= value] {, option}. Offsets are bytes from the start of
// the tag's text.
type Clause struct {
	Word    string
	Value   string
	Options []Option
	Offset  int

	word *word
}

type Option struct {
	Name   string
	Value  string // "" for a flag
	Offset int
}

func (c Clause) Get(name string) string {
	for _, o := range c.Options {
		if o.Name == name {
			return o.Value
		}
	}
	return ""
}

func (c Clause) Has(name string) bool {
	return slices.ContainsFunc(c.Options, func(o Option) bool { return o.Name == name })
}

func (c Clause) List(name string) []string {
	if !c.Has(name) {
		return nil
	}
	return strings.Split(c.Get(name), ",")
}

func (c Clause) Number(name string, otherwise int) int {
	n, err := strconv.Atoi(c.Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

// Parse returns the clauses of a kv tag on site, and the faults of those it leaves out.
func Parse(text string, site Site) (clauses []Clause, faults []*Fault) {
	offset := 0
	for part := range strings.SplitSeq(text, ";") {
		c, fault := parseClause(part, offset, site)
		if fault == nil && !c.word.many && slices.ContainsFunc(clauses, func(other Clause) bool { return other.Word == c.Word }) {
			fault = &Fault{c.Offset, fmt.Sprintf("%s is given twice", c.Word)}
		}
		if fault != nil {
			faults = append(faults, fault)
		} else {
			clauses = append(clauses, c)
		}
		offset += len(part) + 1
	}
	return clauses, faults
}

// Misfit says why c cannot be on a t, or "".
func (c Clause) Misfit(t types.Type) string {
	if c.word.fits == nil {
		return ""
	}
	return c.word.fits(t)
}

func (c Clause) Reference(o Option) Reference {
	takes, _ := c.word.option(o.Name)
	return takes.refers
}

func parseClause(text string, offset int, site Site) (Clause, *Fault) {
	head, rest, more := strings.Cut(text, ",")
	name, value, valued, at := parseWord(head, offset)
	c := Clause{Word: name, Value: value, Offset: at}
	var fault *Fault
	if c.word, fault = findWord(name, at, site); fault != nil {
		return c, fault
	}
	if wrong := c.word.value.fault(name, value, valued); wrong != "" {
		return c, &Fault{at, wrong}
	}
	for offset += len(head) + 1; more; offset += len(head) + 1 {
		head, rest, more = strings.Cut(rest, ",")
		if c.Options, fault = parseOption(c, head, offset, site); fault != nil {
			return c, fault
		}
	}
	return c, nil
}

func parseOption(c Clause, text string, offset int, site Site) ([]Option, *Fault) {
	name, value, valued, at := parseWord(text, offset)
	if last := len(c.Options) - 1; last >= 0 && token.IsExported(name) && !valued {
		if takes, _ := c.word.option(c.Options[last].Name); takes.list {
			c.Options[last].Value += "," + name
			return c.Options, nil
		}
	}
	takes, ok := c.word.option(name)
	if !ok {
		if name == "" {
			return nil, &Fault{at, fmt.Sprintf("an empty option of %s", c.Word)}
		}
		if slices.Contains(wordsOn(site), name) {
			return nil, &Fault{at, fmt.Sprintf("%s is not an option of %s but a word of its own, after a semicolon: %[2]s; %[1]s", name, c.Word)}
		}
		if owners := elsewhere(name, site); len(owners) == 1 {
			return nil, &Fault{at, fmt.Sprintf("%s is not an option of %s but of %s", name, c.Word, owners[0])}
		}
		return nil, &Fault{at, fmt.Sprintf("unknown option %q of %s; %s", name, c.Word, c.word.knownOptions(name))}
	}
	if c.Has(name) {
		return nil, &Fault{at, fmt.Sprintf("%s is given twice", name)}
	}
	if wrong := takes.value.fault(name, value, valued); wrong != "" {
		return nil, &Fault{at, wrong}
	}
	return append(c.Options, Option{name, value, at}), nil
}

// parseWord splits "word = value"; at is the offset of the word.
func parseWord(text string, offset int) (name, value string, valued bool, at int) {
	at = offset + len(text) - len(strings.TrimLeft(text, " \t"))
	name, value, valued = strings.Cut(text, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), valued, at
}

func findWord(name string, at int, site Site) (*word, *Fault) {
	i := slices.IndexFunc(words, func(w *word) bool { return w.name == name })
	switch {
	case name == "":
		return nil, &Fault{at, "an empty clause; " + english.Known("", wordsOn(site))}
	case i < 0:
		if owners := elsewhere(name, site); len(owners) == 1 {
			return nil, &Fault{at, fmt.Sprintf("%s is not a word but an option of %s, after a comma", name, owners[0])}
		}
		return nil, &Fault{at, fmt.Sprintf("unknown word %q; %s", name, english.Known(name, wordsOn(site)))}
	case words[i].on&site == 0:
		return nil, &Fault{at, fmt.Sprintf("%s goes on %s, not on %s", name, words[i].on, site)}
	}
	return words[i], nil
}
