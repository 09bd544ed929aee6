package tag

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/problem"
)

// Text is the text of a kv tag, with the position of each byte.
type Text struct {
	Text  string
	start token.Pos
	at    []int // offset of each byte of Text, and of its end, from start; nil: Text begins there
}

func (t Text) Pos(offset int) token.Pos {
	offset = min(offset, len(t.Text))
	if t.at != nil {
		offset = t.at[offset]
	}
	return t.start + token.Pos(offset)
}

type Fault struct {
	Offset  int
	Message string
}

func (t Text) Report(r *problem.Reporter, faults ...*Fault) {
	for _, fault := range faults {
		r.At(t.Pos(fault.Offset), "%s", fault.Message)
	}
}

// OfField returns the kv tag in the struct tag lit. A malformed struct tag that mentions kv is a
// fault: reflect would silently ignore it.
func OfField(lit *ast.BasicLit) (tag Text, ok bool, fault *Fault) {
	if lit == nil {
		return Text{}, false, nil
	}
	text, at := unquote(lit.Value)
	whole := Text{text, lit.Pos(), at}
	for i := skipBlanks(text, 0); i < len(text); i = skipBlanks(text, i) {
		key, quoted, found := nextPair(text[i:])
		if !found && (strings.HasPrefix(text[i:], "kv") || strings.Contains(text, "kv:")) {
			return whole, false, &Fault{i, "malformed struct tag: write `kv:\"...\"` with nothing between the colon and the quotation mark"}
		}
		if !found {
			return tag, ok, nil
		}
		if key == "kv" && ok {
			return whole, false, &Fault{i, "a second kv tag on one field; separate clauses by a semicolon"}
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

func (t Text) within(i int, quoted string) Text {
	inner, offsets := unquote(quoted)
	at := make([]int, len(offsets))
	for j, o := range offsets {
		at[j] = t.at[i+o]
	}
	return Text{inner, t.start, at}
}

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

// OfMethod returns the //kv: lines above a method.
func OfMethod(doc *ast.CommentGroup) []Text {
	var tags []Text
	for _, c := range doc.List {
		if text, ok := strings.CutPrefix(c.Text, "//kv:"); ok {
			tags = append(tags, Text{Text: text, start: c.Slash + token.Pos(len("//kv:"))})
		}
	}
	return tags
}

// InProse returns a comment "// kv:word", which is no directive, or nil.
func InProse(doc *ast.CommentGroup) *ast.Comment {
	for _, c := range doc.List {
		text := strings.TrimPrefix(c.Text, "//")
		trimmed := strings.TrimLeft(text, " \t")
		if trimmed != text && strings.HasPrefix(trimmed, "kv:") {
			return c
		}
	}
	return nil
}
