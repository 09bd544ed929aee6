package templates

import (
	"context"
	"fmt"
	"io"
	"math"
)

// RingPicture draws a ring: its segments clockwise from the top, with their slots.
type RingPicture struct {
	Title    string // for screen readers
	Segments []Segment
	Newest   int    // the segment being written; the head follows its last slot that is not Unwritten
	Counter  int64  // in the middle
	Counts   string // the caption of the counter: "numbers used, room for 256"
	Lit      []int  // slots that have just changed, counted over all segments
	Words    string // below the picture
}

// Segment is one key of a ring.
type Segment struct {
	Name  string
	Slots []Slot
}

// Slot is the state of one slot of a ring.
type Slot uint8

// The states of a slot.
const (
	Unwritten Slot = iota // not reached yet
	Filled
	Stale     // refers to something that no longer exists
	Missing   // never written, although its number was used
	Unchecked // Filled or Stale: not checked
)

// Render writes the picture with its key.
func (r RingPicture) Render(ctx context.Context, w io.Writer) error {
	return ringPicture(r, r.draw()).Render(ctx, w)
}

func (r RingPicture) description() string {
	text := fmt.Sprintf("A ring of %s with %s: %s filled, %s stale, %s missing.%s",
		counted(len(r.Segments), "segment", "segments"), counted(len(r.slots()), "slot", "slots"),
		r.count(Filled), r.count(Stale), r.count(Missing), r.headWords())
	if countOf(Unchecked, r.slots()) > 0 {
		text += " " + r.count(Unchecked) + " others were not looked into."
	}
	return text
}

func (r RingPicture) headWords() string {
	if name := r.head(); name != "" {
		return " The head is in " + name + "."
	}
	return ""
}

func (r RingPicture) head() string {
	if r.Newest < 0 || r.Newest >= len(r.Segments) {
		return ""
	}
	return r.Segments[r.Newest].Name
}

func counted(n int, one, many string) string { return Counted(int64(n), one, many).Words() }

func (r RingPicture) slots() []Slot {
	var all []Slot
	for _, s := range r.Segments {
		all = append(all, s.Slots...)
	}
	return all
}

func (r RingPicture) count(want Slot) string { return Grouped(int64(countOf(want, r.slots()))) }

func countOf(want Slot, slots []Slot) int {
	n := 0
	for _, p := range slots {
		if p == want {
			n++
		}
	}
	return n
}

func (r RingPicture) key() []entry {
	key := []entry{
		{"filled", r.count(Filled) + " filled"},
		{"newest", "newest"},
		{"stale", r.count(Stale) + " stale"},
		{"missing", r.count(Missing) + " missing"},
		{"head", "head"},
	}
	if countOf(Unchecked, r.slots()) > 0 {
		key = append(key, entry{"unchecked", r.count(Unchecked) + " not looked into"})
	}
	return key
}

const (
	ringWide    = 500.0
	ringRadius  = 212.0 // of the outer end of strokes, if names are short
	ringStroke  = 34.0
	ringGlyph   = 8.8 // the width of a character
	ringStrokes = 512 // with more slots, a stroke stands for several
	ringNames   = 16  // with more segments, only some show their names
)

type ringDrawing struct {
	height         float64
	middle         point
	radius         float64
	per            int // slots for each stroke
	width          float64
	rim, hand      path
	filled, newest path
	stale, missing path
	unread, lit    path
	names          []ringName
	knob           point
	gap, turn      float64 // the angles between segments, and of a segment with its gap
	strokes        int     // of the longest segment
}

type point struct{ x, y float64 }

type ringName struct {
	mark
	y   float64
	now bool
}

func (r RingPicture) draw() *ringDrawing {
	d := r.measure()
	before := 0
	for i, s := range r.Segments {
		d.segment(i, s, i == r.Newest)
		for _, slot := range r.Lit {
			if slot -= before; slot >= 0 && slot < len(s.Slots) {
				d.radial(&d.lit, d.direction(i, s, slot/d.per), 1)
			}
		}
		before += len(s.Slots)
		if i == r.Newest || i%((len(r.Segments)-1)/ringNames+1) == 0 {
			d.name(i, s.Name, i == r.Newest)
		}
	}
	return d
}

// The longest name limits the radius, and the number of strokes their width.
func (r RingPicture) measure() *ringDrawing {
	d := &ringDrawing{per: (len(r.slots())-1)/ringStrokes + 1}
	longest := 0
	for _, s := range r.Segments {
		longest = max(longest, len([]rune(shortened(s.Name, ringNameMax))))
		d.strokes = max(d.strokes, (len(s.Slots)-1)/d.per+1)
	}
	d.radius = math.Min(ringRadius, ringWide/2-12-ringGlyph*float64(longest))
	d.height = 2 * (d.radius + 32)
	d.middle = point{ringWide / 2, d.height / 2}
	d.turn = 2 * math.Pi / float64(max(1, len(r.Segments)))
	d.gap = math.Min(.06, d.turn/5)
	between := (d.turn - d.gap) / float64(max(1, d.strokes)) * (d.radius - ringStroke)
	d.width = math.Min(2.6, .6*between)
	return d
}

const ringNameMax = 10

func (d *ringDrawing) at(direction, distance float64) point {
	sin, cos := math.Sincos(direction)
	return point{d.middle.x + distance*sin, d.middle.y - distance*cos}
}

func (d *ringDrawing) segment(i int, s Segment, now bool) {
	start, end := float64(i)*d.turn+d.gap/2, float64(i+1)*d.turn-d.gap/2
	d.arc(start, end)
	strokes := (len(s.Slots) + d.per - 1) / d.per
	head := start
	for j := range strokes {
		slots := s.Slots[j*d.per : min((j+1)*d.per, len(s.Slots))]
		width := (end - start) / float64(strokes)
		d.stroke(start+(float64(j)+.5)*width, slots, now)
		if countOf(Unwritten, slots) < len(slots) {
			head = start + (float64(j)+1.5)*width
		}
	}
	if now {
		d.head(math.Min(head, end))
	}
}

func (d *ringDrawing) arc(start, end float64) {
	inner := d.radius - ringStroke - 4
	from, to := d.at(start, inner), d.at(end, inner)
	large := "0"
	if end-start > math.Pi {
		large = "1"
	}
	d.rim.add("M", from.x, from.y)
	d.rim.add("A", inner, inner)
	d.rim.add(" 0 "+large+" 1 ", to.x, to.y)
}

func (d *ringDrawing) direction(i int, s Segment, j int) float64 {
	strokes := (len(s.Slots) + d.per - 1) / d.per
	return float64(i)*d.turn + d.gap/2 + (float64(j)+.5)*(d.turn-d.gap)/float64(strokes)
}

// A stroke is as high as the filled share of its slots. If none is filled, it is half a stroke if
// one is stale, or a dot if one is missing.
func (d *ringDrawing) stroke(direction float64, slots []Slot, now bool) {
	filled := float64(countOf(Filled, slots)) / float64(len(slots))
	switch {
	case filled > 0 && now:
		d.radial(&d.newest, direction, filled)
	case filled > 0:
		d.radial(&d.filled, direction, filled)
	case countOf(Unchecked, slots) > 0:
		d.radial(&d.unread, direction, 1)
	case countOf(Stale, slots) > 0:
		d.radial(&d.stale, direction, .5)
	case countOf(Missing, slots) > 0:
		dot := d.at(direction, d.radius-ringStroke)
		d.missing.add("M", dot.x, dot.y)
		d.missing.add("h", 0)
	}
}

func (d *ringDrawing) radial(p *path, direction, height float64) {
	inner := d.radius - ringStroke
	from, to := d.at(direction, inner), d.at(direction, inner+height*ringStroke)
	p.add("M", from.x, from.y)
	p.add("L", to.x, to.y)
}

func (d *ringDrawing) head(direction float64) {
	outer := d.at(direction, d.radius+9)
	d.knob = d.at(direction, d.radius-ringStroke-30)
	d.hand.add("M", outer.x, outer.y)
	d.hand.add("L", d.knob.x, d.knob.y)
}

func (d *ringDrawing) name(i int, name string, now bool) {
	direction := (float64(i) + .5) * d.turn
	at := d.at(direction, d.radius+11)
	sideways := (at.x - d.middle.x) / d.radius
	anchor := "middle"
	switch {
	case sideways > .25:
		anchor = "start"
	case sideways < -.25:
		anchor = "end"
	}
	lower := 5 - 5*math.Cos(direction)
	d.names = append(d.names, ringName{mark{at.x, anchor, shortened(name, ringNameMax)}, at.y + lower, now})
}
