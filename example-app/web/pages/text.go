package pages

import "github.com/ringtree/ringtree/example-app/markdown"

// parsed returns the blocks of a text. Because they go below the heading of the page,
// the first heading in the text has level 2, and no heading skips a level.
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
