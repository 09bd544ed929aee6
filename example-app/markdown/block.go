package markdown

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// deepest is how deep quotes, and the parts of a line, may be nested. What is
// nested deeper is text.
const deepest = 4

// Parse returns the blocks of text.
func Parse(text string) []Node { return blocks(text, 0) }

func blocks(text string, depth int) []Node {
	b := &builder{lines: strings.Split(text, "\n"), depth: depth}
	for len(b.lines) > 0 {
		b.step()
	}
	b.end()
	return b.nodes
}

// builder turns lines into blocks. It gathers the lines of a paragraph until that
// ends.
type builder struct {
	lines     []string // not read yet
	depth     int
	paragraph []string
	nodes     []Node
}

var (
	heading  = regexp.MustCompile(`^(#{1,3})[ \t]+(.+?)[ \t]*$`)
	bullet   = regexp.MustCompile(`^[-*][ \t]+(.*)$`)
	number   = regexp.MustCompile(`^[0-9]{1,9}[.)][ \t]+(.*)$`)
	quoted   = regexp.MustCompile(`^>[ \t]?(.*)$`)
	indented = regexp.MustCompile(`^[ \t]+(\S.*)$`)
)

const fence = "```"

// step reads the next block, or the next line of a paragraph.
func (b *builder) step() {
	line := b.lines[0]
	switch {
	case strings.TrimSpace(line) == "":
		b.end()
		b.lines = b.lines[1:]
	case strings.HasPrefix(line, fence):
		b.add(b.code())
	case heading.MatchString(line):
		b.add(b.heading())
	case quoted.MatchString(line) && b.depth < deepest:
		b.add(Node{Kind: Quote, Children: blocks(strings.Join(slices.Collect(b.take(quoted)), "\n"), b.depth+1)})
	case bullet.MatchString(line):
		b.add(Node{Kind: List, Children: b.items(bullet)})
	case number.MatchString(line):
		b.add(Node{Kind: Numbered, Children: b.items(number)})
	default:
		b.paragraph = append(b.paragraph, strings.TrimSpace(line))
		b.lines = b.lines[1:]
	}
}

// end ends the paragraph, if there is one.
func (b *builder) end() {
	if len(b.paragraph) > 0 {
		b.nodes = append(b.nodes, Node{Kind: Paragraph, Children: inline(strings.Join(b.paragraph, "\n"), 0)})
		b.paragraph = nil
	}
}

func (b *builder) add(n Node) {
	b.end()
	b.nodes = append(b.nodes, n)
}

// code reads a block of code. A block without an end ends with the text.
func (b *builder) code() Node {
	n := 1
	for n < len(b.lines) && strings.TrimSpace(b.lines[n]) != fence {
		n++
	}
	text := strings.Join(b.lines[1:n], "\n")
	b.lines = b.lines[min(n+1, len(b.lines)):]
	return Node{Kind: CodeBlock, Text: text}
}

func (b *builder) heading() Node {
	parts := heading.FindStringSubmatch(b.lines[0])
	b.lines = b.lines[1:]
	return Node{Kind: Heading, Level: len(parts[1]), Children: inline(parts[2], 0)}
}

// take reads the next lines that have the mark, and yields what follows it.
func (b *builder) take(mark *regexp.Regexp) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(b.lines) > 0 {
			parts := mark.FindStringSubmatch(b.lines[0])
			if parts == nil {
				return
			}
			b.lines = b.lines[1:]
			if !yield(parts[1]) {
				return
			}
		}
	}
}

// items reads the items of a list, each with the indented lines after it.
func (b *builder) items(mark *regexp.Regexp) (items []Node) {
	for line := range b.take(mark) {
		text := slices.AppendSeq([]string{line}, b.take(indented))
		items = append(items, Node{Kind: Item, Children: inline(strings.Join(text, "\n"), 0)})
	}
	return items
}
