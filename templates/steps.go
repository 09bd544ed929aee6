package templates

import (
	"context"
	"fmt"
	"io"
)

// StepsPicture draws keys in the steps in which they are read or written, from the top.
type StepsPicture struct {
	Title string // for screen readers
	Steps []Step
	Words string // below the picture
}

// Step is some keys that are asked for together.
type Step struct {
	Name string
	Note string // below the name
	Now  bool   // highlighted
	Keys []StepKey
}

// StepKey is the use of a key in a step.
type StepKey struct {
	Op    string // "append"
	Key   string
	Holds string // the value read or written
}

// Render writes the picture with its words.
func (s StepsPicture) Render(ctx context.Context, w io.Writer) error {
	return stepsPicture(s, s.draw()).Render(ctx, w)
}

func (s StepsPicture) description() string {
	keys := 0
	for _, step := range s.Steps {
		keys += len(step.Keys)
	}
	return fmt.Sprintf("%s with %s.", counted(len(s.Steps), "step", "steps"), counted(keys, "key", "keys"))
}

func (s StepsPicture) key() []entry { return nil }

const (
	stepsWide    = 640.0
	stepsLine    = 22.0
	stepsRow     = 27.0
	stepsKeyMax  = 26
	stepsHoldMax = 32
)

type stepsDrawing struct {
	height float64
	steps  []stepDrawing
}

type stepDrawing struct {
	Step
	y    float64 // of the name
	note float64
	rows []float64 // the middle of each key
}

func (s StepsPicture) draw() stepsDrawing {
	d := stepsDrawing{height: 2}
	for _, step := range s.Steps {
		drawn := stepDrawing{Step: step, y: d.height + 14}
		d.height += stepsLine
		if step.Note != "" {
			drawn.note = d.height + 12
			d.height += stepsLine
		}
		for range step.Keys {
			drawn.rows = append(drawn.rows, d.height+stepsRow/2)
			d.height += stepsRow
		}
		d.height += 14
		d.steps = append(d.steps, drawn)
	}
	d.height = max(0, d.height-14)
	return d
}

func (s stepDrawing) shade() string {
	if s.Now {
		return "now"
	}
	return "ink"
}
