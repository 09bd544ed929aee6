package pages

import "github.com/ringtree/ringtree/example-app/markdown"

// parsed returns the blocks of a text below the heading of its page: the first
// heading in it is of the second level, and none skips one.
func parsed(text string) []markdown.Node {
	blocks := markdown.Parse(text)
	last := 1
	for i, b := range blocks {
		if b.Kind == markdown.Heading {
			last = max(2, min(b.Level, last+1))
			blocks[i].Level = last
		}
	}
	return blocks
}
