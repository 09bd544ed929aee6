package codegen

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

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

// A TagError is a fault in the text of a tag.
type TagError struct {
	Offset  int
	Message string
}

// Error returns the message with the offset.
func (e *TagError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message) }

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

// reportTag reports the faults in text that err joins.
func reportTag(r *reporter, text tagText, err error) {
	var fault *TagError
	if list, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range list.Unwrap() {
			reportTag(r, text, one)
		}
	} else if errors.As(err, &fault) {
		r.at(text.pos(fault.Offset), "%s", fault.Message)
	}
}
