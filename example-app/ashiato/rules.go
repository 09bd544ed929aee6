package ashiato

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
)

// The limits of input, in characters; MaxPassword is in bytes.
const (
	MinHandle, MaxHandle     = 2, 20
	MinPassword, MaxPassword = 10, 200
	MaxAbout                 = 500
	MaxSlug                  = 60
	MaxTitle                 = 120
	MaxBody                  = 10_000
	MaxTopics, MaxTopic      = 5, 24
	MaxComment               = 1_000
)

// Validate returns Problems.
func (m *Member) Validate() error {
	p := kvmodel.Problems{}
	p.Add("handle", handleProblem(m.Handle))
	p.Add("about", textProblem("", "text", m.About, MaxAbout, "\n\t"))
	return p.Err()
}

func handleProblem(handle string) string {
	switch n := utf8.RuneCountInString(handle); {
	case handle == "":
		return "A member needs a handle."
	case strings.ContainsFunc(handle, func(r rune) bool { return !inName(r) && r != '_' }):
		return "A handle has letters, digits, - and _ only."
	case !guard.OneScript(handle):
		return "A handle has letters of one script, not of several, some of which look alike."
	case n < MinHandle || n > MaxHandle:
		return fmt.Sprintf("A handle has %d to %d characters; this one has %d.", MinHandle, MaxHandle, n)
	}
	return ""
}

func passwordProblem(password string) string {
	switch n := utf8.RuneCountInString(password); {
	case n < MinPassword:
		return fmt.Sprintf("A password has at least %d characters; this one has %d.", MinPassword, n)
	case len(password) > MaxPassword:
		return fmt.Sprintf("A password has at most %d bytes; this one has %d.", MaxPassword, len(password))
	}
	return ""
}

// Validate returns Problems.
func (p *Page) Validate() error {
	problems := kvmodel.Problems{}
	problems.Add("title", textProblem("A page needs a title.", "title", p.Title, MaxTitle, ""))
	problems.Add("body", textProblem("A page needs text.", "text", p.Body, MaxBody, "\n\t"))
	problems.Add("topics", topicsProblem(p.Topics))
	return problems.Err()
}

func topicsProblem(topics []string) string {
	if len(topics) > MaxTopics {
		return fmt.Sprintf("A page has at most %d topics.", MaxTopics)
	}
	for _, topic := range topics {
		switch n := utf8.RuneCountInString(topic); {
		case strings.ContainsFunc(topic, func(r rune) bool { return !inName(r) }):
			return fmt.Sprintf("A topic has letters, digits and - only; %q has others.", topic)
		case n > MaxTopic:
			return fmt.Sprintf("A topic has at most %d characters; %q has %d.", MaxTopic, topic, n)
		}
	}
	return ""
}

// Validate returns Problems.
func (c *Comment) Validate() error {
	problems := kvmodel.Problems{}
	problems.Add("text", textProblem("A comment needs text.", "comment", c.Text, MaxComment, "\n\t"))
	return problems.Err()
}

// textProblem returns "" for a text of at most limit characters that has a visible one, unless
// needed is "", and no control characters but the allowed ones.
func textProblem(needed, name, text string, limit int, allowed string) string {
	switch n := utf8.RuneCountInString(text); {
	case needed != "" && !visible(text):
		return needed
	case !utf8.ValidString(text):
		return "This " + name + " is not valid UTF-8 text."
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(allowed, r) }):
		return "This " + name + " holds control characters, which cannot be shown."
	case n > limit:
		return fmt.Sprintf("A %s has at most %d characters; this one has %d.", name, limit, n)
	}
	return ""
}

// formProblem accepts "" and an id from NewID.
func formProblem(id string) string {
	if id == "" || kvmodel.IsID(id) {
		return ""
	}
	return "This form does not come from this site."
}

// lines turns the \r\n of browsers into \n.
func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }
