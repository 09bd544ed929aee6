package journal

import (
	"strconv"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var segmentKey = kv.NewClass("line", 2) // process, number

// Segment is one key of a journal.
type Segment struct {
	process string
	number  int64
	size    int
	open    int                 // lines of incomplete changes
	since   time.Time           // when the first of these, or a line before it, was written
	created map[string][]string // ids for the enumeration, by model
	ended   bool                // no more lines are begun in it
	over    []byte              // unwritten lines that end notes in it
}

func newSegment(process string, number int64) *Segment {
	return &Segment{process: process, number: number, created: map[string][]string{}}
}

func (s *Segment) key() string { return segmentKey.Key(s.process, strconv.FormatInt(s.number, 10)) }
