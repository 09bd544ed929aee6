// Package markdown turns what members write into a tree of harmless parts: a
// subset of Markdown without raw HTML. The tree holds plain text; whoever shows
// it escapes that, so that nothing a member writes is markup.
//
// It knows paragraphs, headings (#, ##, ###), quotes (>), lists (-, *, 1.),
// blocks of code (```), *emphasis*, **strong**, `code` and [links](https://...).
// What looks like none of these is text, and so is an emphasis or a link of more
// than 2,000 bytes: the time a text takes grows with its length only.
package markdown

// Kind is what a Node is.
type Kind uint8

// The kinds of blocks, and of the parts within one.
const (
	Paragraph Kind = iota
	Heading
	Quote
	List
	Numbered // a list with numbers
	Item     // of a List or Numbered
	CodeBlock

	Text
	Emphasis
	Strong
	Code
	Link
	Break // of a line
)

// Node is a part of a text. Only the fields that are named for its kind are
// filled in.
type Node struct {
	Kind     Kind
	Level    int    // Heading: 1 to 3
	Text     string // Text, Code, CodeBlock
	Href     string // Link: http, https, or relative to the site
	Children []Node // all others but Break
}
