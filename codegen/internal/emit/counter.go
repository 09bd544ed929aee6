package emit

import (
	"fmt"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

// A batch is when rankings follow a counter: its name in the library, and in words.
type batch struct{ name, words string }

var batches = map[string]batch{
	"window":  {"Windowed", "rankings follow within a second"},
	"sampled": {"Sampled", "rankings follow one change in many"},
	"every":   {"Every", "rankings follow before the reply"},
}

// tally returns the expression of the counter that rankings follow.
func tally(c *model.Counter) string {
	return fmt.Sprintf("db.Tally(%q, %q)", c.Model.Stored, c.Stored)
}

// counterLine returns what c is, for the comment beside it.
func counterLine(c *model.Counter) string {
	text := "outside of the record, filled in when that is loaded"
	if len(c.Followers()) > 0 {
		text += "; " + batches[c.Batch].words
	}
	return text
}

// counterTrips returns the trips of using c. A ranking that follows before the reply
// takes five, and one more to find out whose it is.
func counterTrips(c *model.Counter) string {
	if c.Batch != "every" {
		return "Hit, Add and Get 1"
	}
	add := 1
	for _, x := range c.Followers() {
		add += 5
		if x.Ranking.By != nil {
			add++
		}
	}
	return fmt.Sprintf("Hit and Add %d, Get 1", add)
}
