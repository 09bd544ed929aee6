// Package markdown parses what members write, in a subset of Markdown without raw
// HTML, into a tree of harmless parts. The tree holds plain text. Code that shows
// it must escape that text, so that nothing a member writes becomes markup.
//
// The package knows paragraphs, headings (#, ##, ###), quotes (>), lists (-, *,
// 1.), blocks of code (```), *emphasis*, **strong**, `code` and
// [links](https://...). Everything else is text. So is an emphasis or a link of
// more than 2,000 bytes, so that parsing takes time proportional to the length of
// the text.
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

// Node is a part of a text. Only the fields that list its kind are filled in.
type Node struct {
	Kind     Kind
	Level    int    // Heading: 1 to 3
	Text     string // Text, Code, CodeBlock
	Href     string // Link: http, https, or relative to the site
	Children []Node // all others but Break
}
