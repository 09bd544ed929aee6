package ringtree_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestGlossary_HoldsCommentsAndDocs(t *testing.T) {
	report(t, checkGlossary(os.DirFS(".")))
}

const glossaryFile = "docs/architecture.md"

// A term is a line of the glossary: the words it defines, and the rivals that
// comments and docs must not use instead.
type term struct {
	line   int
	words  []string
	rivals []rival
}

// A rival is banned everywhere. If it has a room, written "x outside ROOM", it is
// banned only in the Go files of other rooms.
type rival struct{ words, room string }

func (r rival) bannedIn(file string) bool {
	return r.room == "" || path.Ext(file) == ".go" && !within(file, r.room)
}

func (t term) place() string { return fmt.Sprintf("%s:%d", glossaryFile, t.line) }

// A passage is prose: a comment of hand-written Go, or a Markdown file without
// its code and without the glossary.
type passage struct {
	file string
	line int // of its beginning
	text string
}

// checkGlossary returns a complaint for each word that the glossary defines
// twice or that no passage uses, and for each rival of a word in a passage.
func checkGlossary(tree fs.FS) []string {
	terms, passages := glossary(tree), prose(tree)
	return slices.Concat(definedTwice(terms), unused(terms, passages), rivals(terms, passages))
}

func definedTwice(terms []term) (complaints []string) {
	first := map[string]int{}
	for _, t := range terms {
		for _, word := range t.words {
			if line, ok := first[word]; ok {
				complaints = append(complaints, fmt.Sprintf("%s defines %q, and so does line %d", t.place(), word, line))
				continue
			}
			first[word] = t.line
		}
	}
	return complaints
}

func unused(terms []term, passages []passage) (complaints []string) {
	for _, t := range terms {
		for _, word := range t.words {
			used := phrase(word, "(s|es)?")
			if !slices.ContainsFunc(passages, func(p passage) bool { return used.MatchString(p.text) }) {
				complaints = append(complaints, fmt.Sprintf("%s defines %q, which no comment and no page uses", t.place(), word))
			}
		}
	}
	return complaints
}

func rivals(terms []term, passages []passage) (complaints []string) {
	for _, t := range terms {
		for _, r := range t.rivals {
			banned := phrase(r.words, "s?")
			for _, p := range passages {
				if !r.bannedIn(p.file) {
					continue
				}
				for _, found := range banned.FindAllStringIndex(p.text, -1) {
					complaints = append(complaints, fmt.Sprintf("%s:%d %s", p.file, p.lineAt(found[0]), t.complaint(r)))
				}
			}
		}
	}
	return complaints
}

func (t term) complaint(r rival) string {
	if r.room != "" {
		return fmt.Sprintf("says %q, which is a word of %s alone (%s)", r.words, r.room, t.place())
	}
	return fmt.Sprintf("says %q: the word is %q (%s)", r.words, t.words[0], t.place())
}

func (p passage) lineAt(offset int) int { return p.line + strings.Count(p.text[:offset], "\n") }

// phrase matches words, with ending after the last, also across lines.
func phrase(words, ending string) *regexp.Regexp {
	parts := strings.Fields(words)
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`(?i)\b` + strings.Join(parts, `\s+`) + ending + `\b`)
}

// A line of the glossary: bold words, their meaning, their rivals.
var termLine = regexp.MustCompile(`^\| \*\*(.+?)\*\* \|.*\|([^|]*)\|$`)

// glossary returns the terms of the tables in glossaryFile.
func glossary(tree fs.FS) []term {
	var terms []term
	for i, line := range strings.Split(string(read(tree, glossaryFile)), "\n") {
		if cells := termLine.FindStringSubmatch(line); cells != nil {
			terms = append(terms, term{i + 1, list(cells[1]), rivalsIn(cells[2])})
		}
	}
	return terms
}

func list(cell string) []string {
	if cell = strings.TrimSpace(cell); cell == "" {
		return nil
	}
	return strings.Split(cell, ", ")
}

func rivalsIn(cell string) []rival {
	var found []rival
	for _, text := range list(cell) {
		words, room, _ := strings.Cut(text, " outside ")
		found = append(found, rival{words, room})
	}
	return found
}

// prose returns the passages of tree in the order of their files.
func prose(tree fs.FS) []passage {
	var found []passage
	for _, file := range texts(tree) {
		found = append(found, passage{file, 1, withoutCode(string(read(tree, file)))})
	}
	for _, file := range goFiles(tree) {
		if text := read(tree, file); !generatedHeader.Match(beforePackage(text)) {
			found = append(found, comments(file, text)...)
		}
	}
	slices.SortStableFunc(found, func(a, b passage) int { return strings.Compare(a.file, b.file) })
	return found
}

var codeSpan = regexp.MustCompile("`[^`]*`")

// withoutCode returns the text of a Markdown file, line by line, with what is
// not prose left out.
func withoutCode(text string) string {
	lines := strings.Split(text, "\n")
	fenced := false
	for i, line := range lines {
		isFence := strings.HasPrefix(line, "```")
		if fenced || isFence || termLine.MatchString(line) {
			lines[i] = ""
		}
		fenced = fenced != isFence
		lines[i] = codeSpan.ReplaceAllString(lines[i], "``")
	}
	return strings.Join(lines, "\n")
}

// comments returns the comments of a Go file without their slashes.
func comments(file string, text []byte) []passage {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	var found []passage
	for _, group := range parsed.Comments {
		found = append(found, passage{file, set.Position(group.Pos()).Line, commentText(group)})
	}
	return found
}

func commentText(group *ast.CommentGroup) string {
	var lines []string
	for _, comment := range group.List {
		lines = append(lines, strings.TrimPrefix(comment.Text, "//"))
	}
	return strings.Join(lines, "\n")
}

func TestCheckGlossary_NamesFileAndLine(t *testing.T) {
	const head = "| word | meaning | never |\n|---|---|---|\n"
	const journal = "| **journal** | what is written first | outbox, log of changes |\n"
	const uses = "// A journal.\npackage a\n"
	for _, test := range []struct {
		name string
		tree map[string]string
		want []string
	}{
		{"a rival in a comment",
			map[string]string{glossaryFile: head + journal, "a.go": uses + "\nvar x int // a thing\n\n// y has\n// an Outbox.\nvar y int\n"},
			[]string{`a.go:7 says "outbox": the word is "journal" (docs/architecture.md:3)`}},
		{"a rival across lines of a page",
			map[string]string{glossaryFile: head + journal, "docs/b.md": "# The journal\n\nIt is a log\nof changes.\n"},
			[]string{`docs/b.md:3 says "log of changes": the word is "journal" (docs/architecture.md:3)`}},
		{"a rival in code, in generated Go, in another word and in the glossary",
			map[string]string{
				glossaryFile: head + journal,
				"a.go":       uses + "\nvar outbox = \"outbox\" // unoutboxed\n",
				"b_kv.go":    "// Code generated by kvgen. DO NOT EDIT.\n\n// The outbox.\npackage b\n",
				"docs/b.md":  "See `outbox`.\n```go\n// The outbox.\n```\n",
			}, nil},
		{"a word that only its own line, code and a longer word use",
			map[string]string{glossaryFile: head + journal, "a.go": "package a\n\nvar journal int // of journalists\n"},
			[]string{`docs/architecture.md:3 defines "journal", which no comment and no page uses`}},
		{"one word of a line that nobody uses",
			map[string]string{glossaryFile: head + "| **leaf, router** | nodes | |\n", "a.go": "// Leaf by leaf.\npackage a\n"},
			[]string{`docs/architecture.md:3 defines "router", which no comment and no page uses`}},
		{"a word of one room in another one",
			map[string]string{
				glossaryFile:     head + "| **seat** | one of a list | seat outside session |\n",
				"session/a.go":   "// A seat.\npackage session\n",
				"timeline/b.go":  "package timeline\n\nvar s int // all seats\n",
				"docs/a_page.md": "A seat.\n",
			},
			[]string{`timeline/b.go:3 says "seat", which is a word of session alone (docs/architecture.md:3)`}},
		{"a plural is a use",
			map[string]string{glossaryFile: head + journal, "a.go": "// All journals.\npackage a\n"}, nil},
		{"a word with two lines",
			map[string]string{glossaryFile: head + journal + "\n" + head + "| **line, journal** | a text | |\n", "a.go": uses + "\n// A line.\n"},
			[]string{`docs/architecture.md:7 defines "journal", and so does line 3`}},
	} {
		tree := fstest.MapFS{}
		for file, text := range test.tree {
			tree[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if diff := cmp.Diff(test.want, checkGlossary(tree)); diff != "" {
			t.Errorf("%s: complaints mismatch (-want +got):\n%s", test.name, diff)
		}
	}
}
