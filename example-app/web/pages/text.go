package pages

import (
	"github.com/ringtree/ringtree/example-app/markdown"
	"github.com/ringtree/ringtree/templates"
)

// counted returns a number with what it counts: "1 trip".
func counted(n int, one, many string) string {
	f := templates.Counted(int64(n), one, many)
	return f.Value + " " + f.Unit
}

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
