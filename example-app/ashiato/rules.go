package ashiato

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what is typed, in characters.
const (
	MinHandle, MaxHandle = 2, 20
	MaxSlug              = 60
	MaxTitle             = 120
	MaxBody              = 10_000
)

// Validate says what is wrong with a Member's handle.
func (m *Member) Validate() error {
	p := Problems{}
	n := utf8.RuneCountInString(m.Handle)
	switch {
	case m.Handle == "":
		p["handle"] = "A member needs a handle."
	case strings.ContainsFunc(m.Handle, func(r rune) bool { return !inHandle(r) }):
		p["handle"] = "A handle has letters from a to z, digits, - and _ only."
	case n < MinHandle || n > MaxHandle:
		p["handle"] = fmt.Sprintf("A handle has %d to %d characters; this one has %d.", MinHandle, MaxHandle, n)
	}
	return p.orNil()
}

func inHandle(r rune) bool { return inSlug(r) || r == '_' || 'A' <= r && r <= 'Z' }

// Validate says what is wrong with a Page, whatever is.
func (p *Page) Validate() error {
	problems := Problems{}
	problems.check("slug", slugProblem(p.Slug))
	problems.check("title", textProblem("title", p.Title, MaxTitle, ""))
	problems.check("body", textProblem("text", p.Body, MaxBody, "\n\t"))
	return problems.orNil()
}

func slugProblem(slug string) string {
	switch n := utf8.RuneCountInString(slug); {
	case slug == "":
		return "A page needs an address."
	case strings.ContainsFunc(slug, func(r rune) bool { return !inSlug(r) }):
		return "An address has small letters from a to z, digits and - only."
	case n > MaxSlug:
		return fmt.Sprintf("An address has at most %d characters; this one has %d.", MaxSlug, n)
	}
	return ""
}

func inSlug(r rune) bool { return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' }

// textProblem says what is wrong with a text of at most limit characters, in
// which there are no control characters but those of allowed.
func textProblem(name, text string, limit int, allowed string) string {
	switch n := utf8.RuneCountInString(text); {
	case strings.TrimSpace(text) == "":
		return "A page needs a " + name + "."
	case !utf8.ValidString(text):
		return "This " + name + " holds bytes that are no text (UTF-8)."
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(allowed, r) }):
		return "This " + name + " holds control characters, which cannot be shown."
	case n > limit:
		return fmt.Sprintf("A %s has at most %d characters; this one has %d.", name, limit, n)
	}
	return ""
}
