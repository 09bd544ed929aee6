package codegen

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A Clause is one clause of a kv tag, checked against the table of words:
//
//	word [= value] {, option}
//
// Offsets count bytes from the start of the tag's text.
type Clause struct {
	Word    string
	Value   string // what stands after the word's "=", "" if nothing does
	Options []Option
	Offset  int

	word *word
}

// An Option is one option of a clause: a flag, or a name with a value.
type Option struct {
	Name   string
	Value  string // "" of a flag
	Offset int
}

// Get returns the value of the option called name, "" if it is not given.
func (c Clause) Get(name string) string {
	o, _ := c.option(name)
	return o.Value
}

// Has reports whether the option called name is given.
func (c Clause) Has(name string) bool {
	_, ok := c.option(name)
	return ok
}

func (c Clause) option(name string) (Option, bool) {
	i := slices.IndexFunc(c.Options, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return Option{}, false
	}
	return c.Options[i], true
}

// A Site is a place where a tag may stand.
type Site int

// The places of tags.
const (
	OnField  Site = 1 << iota // a field's tag
	OnModel                   // the tag of the field _ struct{}
	OnMethod                  // a //kv: comment above a method
)

// String returns the place in words.
func (s Site) String() string {
	switch s {
	case OnField:
		return "a field"
	case OnModel:
		return "the field _ struct{}"
	case OnMethod:
		return "a method"
	}
	var places []string
	for _, one := range []Site{OnField, OnModel, OnMethod} {
		if s&one != 0 {
			places = append(places, one.String())
		}
	}
	return strings.Join(places, " or ")
}

// A TagError is a fault in the text of a tag.
type TagError struct {
	Offset  int
	Message string
}

// Error returns the message with the offset.
func (e *TagError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message) }

// ParseTag returns the clauses of the text of a kv tag that stands on site.
// The error joins a *TagError for every fault; the clauses without fault are
// returned beside it.
func ParseTag(text string, site Site) ([]Clause, error) {
	var clauses []Clause
	var faults []error
	offset := 0
	for part := range strings.SplitSeq(text, ";") {
		c, err := parseClause(part, offset, site)
		if err == nil && !c.word.index && hasWord(clauses, c.Word) {
			err = &TagError{c.Offset, fmt.Sprintf("%s is said twice", c.Word)}
		}
		if err != nil {
			faults = append(faults, err)
		} else {
			clauses = append(clauses, c)
		}
		offset += len(part) + 1
	}
	return clauses, errors.Join(faults...)
}

func hasWord(clauses []Clause, word string) bool {
	return slices.ContainsFunc(clauses, func(c Clause) bool { return c.Word == word })
}

// parseClause parses the clause text, which starts at offset of its tag.
func parseClause(text string, offset int, site Site) (Clause, error) {
	head, rest, more := strings.Cut(text, ",")
	name, value, valued, at := parseWord(head, offset)
	c := Clause{Word: name, Value: value, Offset: at}
	w, err := findWord(name, at, site)
	if err != nil {
		return c, err
	}
	c.word = w
	if err := w.value.check(name, value, valued, at); err != nil {
		return c, err
	}
	for offset += len(head) + 1; more; offset += len(head) + 1 {
		head, rest, more = strings.Cut(rest, ",")
		if c.Options, err = parseOption(c, head, offset); err != nil {
			return c, err
		}
	}
	return c, nil
}

// parseOption returns the options of c with the one that text says.
func parseOption(c Clause, text string, offset int) ([]Option, error) {
	name, value, valued, at := parseWord(text, offset)
	takes, ok := c.word.option(name)
	if !ok {
		if name == "" {
			return nil, &TagError{at, fmt.Sprintf("an empty option of %s", c.Word)}
		}
		return nil, &TagError{at, fmt.Sprintf("unknown option %q of %s; %s", name, c.Word, c.word.knownOptions(name))}
	}
	if c.Has(name) {
		return nil, &TagError{at, fmt.Sprintf("%s is said twice", name)}
	}
	if err := takes.value.check(name, value, valued, at); err != nil {
		return nil, err
	}
	return append(c.Options, Option{name, value, at}), nil
}

// parseWord splits "word = value" and returns the offset at which the word stands.
func parseWord(text string, offset int) (name, value string, valued bool, at int) {
	at = offset + len(text) - len(strings.TrimLeft(text, " \t"))
	name, value, valued = strings.Cut(text, "=")
	return strings.TrimSpace(name), strings.TrimSpace(value), valued, at
}

// findWord returns the table's entry for name, if it may stand on site.
func findWord(name string, at int, site Site) (*word, error) {
	if name == "" {
		return nil, &TagError{at, "an empty clause; " + known("", wordsOn(site))}
	}
	for _, w := range words {
		if w.name != name {
			continue
		}
		if w.on&site == 0 {
			return nil, &TagError{at, fmt.Sprintf("%s stands on %s, not on %s", name, w.on, site)}
		}
		return w, nil
	}
	return nil, &TagError{at, fmt.Sprintf("unknown word %q; %s", name, known(name, wordsOn(site)))}
}

// A tagText is the text of a kv tag and where each of its bytes stands.
type tagText struct {
	text  string
	start token.Pos // of the literal or comment it was found in
	at    []int     // offset of each byte of text, and of its end, from start
}

// pos returns the place of the byte at offset.
func (t tagText) pos(offset int) token.Pos {
	return t.start + token.Pos(t.at[min(offset, len(t.at)-1)])
}

// fieldTag returns the text of the kv tag in the struct tag lit, and whether
// there is one. A struct tag that mentions kv and is not well formed is an
// error, since reflect, and so everybody, would take it for absent; the text
// returned then is that of lit.
func fieldTag(lit *ast.BasicLit) (tag tagText, ok bool, err error) {
	if lit == nil {
		return tagText{}, false, nil
	}
	text, at := unquote(lit.Value)
	whole := tagText{text, lit.Pos(), at}
	for i := skipBlanks(text, 0); i < len(text); i = skipBlanks(text, i) {
		key, quoted, found := nextPair(text[i:])
		if !found && (strings.HasPrefix(text[i:], "kv") || strings.Contains(text, "kv:")) {
			return whole, false, &TagError{i, "malformed struct tag: write `kv:\"...\"` with nothing between the colon and the quotation mark"}
		}
		if !found {
			return tag, ok, nil
		}
		if key == "kv" && ok {
			return whole, false, &TagError{i, "a second kv tag on one field; separate clauses by a semicolon"}
		}
		if key == "kv" {
			tag, ok = whole.within(i+len("kv:"), quoted), true
		}
		i += len(key) + 1 + len(quoted)
	}
	return tag, ok, nil
}

func skipBlanks(text string, i int) int {
	return len(text) - len(strings.TrimLeft(text[i:], " "))
}

// nextPair returns the key and the quoted value that text starts with.
func nextPair(text string) (key, quoted string, ok bool) {
	colon := strings.IndexByte(text, ':')
	if colon <= 0 || strings.ContainsAny(text[:colon], " \"\t") {
		return "", "", false
	}
	quoted, err := strconv.QuotedPrefix(text[colon+1:])
	if err != nil || quoted[0] != '"' {
		return "", "", false
	}
	return text[:colon], quoted, true
}

// within returns the text in the quoted value that stands at offset i of t.
func (t tagText) within(i int, quoted string) tagText {
	inner, offsets := unquote(quoted)
	at := make([]int, len(offsets))
	for j, o := range offsets {
		at[j] = t.at[i+o]
	}
	return tagText{inner, t.start, at}
}

// unquote returns the text of the Go string literal lit and the offset in lit
// of each of its bytes and of its end.
func unquote(lit string) (string, []int) {
	quote := lit[0]
	body := lit[1 : len(lit)-1]
	var text []byte
	var at []int
	for i := 0; i < len(body); {
		piece, tail := body[i:i+1], body[i+1:]
		if quote == '"' && body[i] == '\\' {
			r, multibyte, rest, err := strconv.UnquoteChar(body[i:], quote)
			if err != nil {
				break
			}
			piece, tail = string([]byte{byte(r)}), rest
			if multibyte {
				piece = string(r)
			}
		}
		for range len(piece) {
			at = append(at, i+1)
		}
		text = append(text, piece...)
		i = len(body) - len(tail)
	}
	return string(text), append(at, len(body)+1)
}

// methodTags returns the texts of the //kv: lines of a method's comment.
func methodTags(doc *ast.CommentGroup) []tagText {
	var tags []tagText
	for _, c := range comments(doc) {
		if text, ok := strings.CutPrefix(c.Text, "//kv:"); ok {
			tags = append(tags, plainText(text, c.Slash, len("//kv:")))
		}
	}
	return tags
}

// proseTag returns the comment of doc that says "// kv:word", which Go takes
// for prose, nil if none does.
func proseTag(doc *ast.CommentGroup) *ast.Comment {
	for _, c := range comments(doc) {
		text := strings.TrimPrefix(c.Text, "//")
		trimmed := strings.TrimLeft(text, " \t")
		if trimmed != text && strings.HasPrefix(trimmed, "kv:") {
			return c
		}
	}
	return nil
}

func comments(doc *ast.CommentGroup) []*ast.Comment {
	if doc == nil {
		return nil
	}
	return doc.List
}

// plainText returns text as it stands at offset after start.
func plainText(text string, start token.Pos, offset int) tagText {
	at := make([]int, len(text)+1)
	for i := range at {
		at[i] = offset + i
	}
	return tagText{text, start, at}
}
