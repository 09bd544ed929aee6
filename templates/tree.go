package templates

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
)

// TreePicture draws the tree of a ranking, the root on the left and the highest entries at the top.
// It draws at most 16 rows and folds the rest, the path to one leaf last.
type TreePicture struct {
	Title string // for screen readers
	Root  Node
	Room  int64    // entries a leaf has room for
	Way   string   // the name of the leaf to show the path to; empty means none
	Lit   []string // names of nodes that have just changed
	Goal  string   // the caption of the path: "path to one page"
	Words string   // below the picture
}

// Node is a router if it has children, else a leaf.
type Node struct {
	Name     string
	Count    int64  // entries in it or below it
	Shut     bool   // empty, and skipped by readers
	Children []Node // highest first
}

// Render writes the picture with its key.
func (t TreePicture) Render(ctx context.Context, w io.Writer) error {
	return treePicture(t, t.draw()).Render(ctx, w)
}

func (t TreePicture) description() string {
	text := fmt.Sprintf("A tree of names with %s below %s, in leaves of at most %s.",
		Grouped(t.Root.Count), t.Root.Name, Grouped(t.Room))
	if leads(t.Root, t.Way) {
		text += " The path to " + t.Way + " is marked."
	}
	return text
}

func (t TreePicture) key() []entry {
	key := []entry{
		{"router", "router"},
		{"bar", "leaf, full at " + Grouped(t.Room)},
		{"bars", "router and its leaves"},
		{"shut", "shut, empty"},
	}
	if leads(t.Root, t.Way) {
		key = append(key, entry{"way", cmp.Or(t.Goal, "path to "+t.Way)})
	}
	return key
}

func leads(n Node, name string) bool {
	if name == "" {
		return false
	}
	return n.Name == name || slices.ContainsFunc(n.Children, func(child Node) bool { return leads(child, name) })
}

// branch is a drawn node: a router with its branches, or a row.
type branch struct {
	node     Node
	above    string // the first router of the chain that is folded into this node
	depth    int
	onWay    bool
	lit      bool
	branches []*branch
	point
}

const (
	treeRows    = 16
	treeColumns = 3 // of routers
)

// grow opens the routers on the way first, then all others level by level, while there are rows
// left.
func (t TreePicture) grow() *branch {
	root := t.branch(t.Root, 0)
	rows, shut := 1, []*branch{root}
	for len(shut) > 0 {
		next := max(0, slices.IndexFunc(shut, func(b *branch) bool { return b.onWay }))
		b := shut[next]
		shut = slices.Delete(shut, next, next+1)
		more := len(b.node.Children) - 1
		if more < 0 || rows+more > treeRows || b.depth == treeColumns {
			continue
		}
		rows += more
		for _, child := range b.node.Children {
			b.branches = append(b.branches, t.branch(child, b.depth+1))
		}
		shut = append(shut, b.branches...)
	}
	return root
}

// Of a chain of routers with one open child each, only the last is drawn.
func (t TreePicture) branch(n Node, depth int) *branch {
	first := n.Name
	for {
		only, ok := onlyRouter(n)
		if !ok || n.Name == t.Way {
			break
		}
		n = only
	}
	b := &branch{node: n, depth: depth, onWay: leads(n, t.Way), lit: slices.ContainsFunc(t.Lit, func(name string) bool { return name == n.Name || leads(n, name) })}
	if n.Name != first {
		b.above = first
	}
	return b
}

func onlyRouter(n Node) (Node, bool) {
	open := slices.DeleteFunc(slices.Clone(n.Children), func(child Node) bool { return child.Shut })
	if len(open) != 1 || len(open[0].Children) == 0 {
		return Node{}, false
	}
	return open[0], true
}

// all returns each router before its branches.
func (b *branch) all() []*branch {
	all := []*branch{b}
	for _, child := range b.branches {
		all = append(all, child.all()...)
	}
	return all
}

func (b *branch) name() string {
	return shortened(b.node.Name, treeNameMax)
}

func (b *branch) label() string {
	if b.above != "" {
		return shortened(b.above, treeLabelMax) + "…" + shortened(b.node.Name, treeLabelMax)
	}
	return shortened(b.node.Name, treeLabelMax)
}

const (
	treeNameMax  = 10
	treeLabelMax = 8
	treeRow      = 30.0
	treeBetween  = 16.0 // extra space between rows of different routers
	treeRoot     = 18.0
	treeRouters  = 108.0 // the last column of routers, if there are two
	treeDeep     = 172.0 // the last column, if there are more
	treeWireEnd  = 222.0
	treeBars     = 334.0
	treeBarWidth = 70.0
)

type treeDrawing struct {
	height      float64
	routers     []*branch
	rows        []*branch
	wires, ways string
}

func (t TreePicture) draw() *treeDrawing {
	root := t.grow()
	d := &treeDrawing{}
	for _, b := range root.all() {
		if len(b.branches) == 0 {
			d.rows = append(d.rows, b)
		} else {
			d.routers = append(d.routers, b)
		}
	}
	d.placeRows(root)
	d.placeRouters()
	d.wire(root)
	return d
}

func (d *treeDrawing) placeRows(root *branch) {
	y := 14.0
	parents := map[*branch]*branch{}
	for _, router := range d.routers {
		for _, child := range router.branches {
			parents[child] = router
		}
	}
	for i, row := range d.rows {
		if i > 0 {
			y += treeRow
			if parents[row] != parents[d.rows[i-1]] {
				y += treeBetween
			}
		}
		row.point = point{treeWireEnd, y}
	}
	d.height = y + 16
	if len(d.routers) == 1 {
		d.height = max(d.height, root.y+40)
	}
}

// A router is halfway between its first and last branch.
func (d *treeDrawing) placeRouters() {
	for _, b := range slices.Backward(d.routers) {
		b.x = d.column(b.depth)
		b.y = (b.branches[0].y + b.branches[len(b.branches)-1].y) / 2
	}
}

func (d *treeDrawing) column(depth int) float64 {
	deepest := 0
	for _, router := range d.routers {
		deepest = max(deepest, router.depth)
	}
	switch {
	case depth == 0:
		return treeRoot
	case deepest == 1:
		return treeRouters
	}
	return treeRoot + (treeDeep-treeRoot)*float64(depth)/float64(deepest)
}

func (d *treeDrawing) wire(b *branch) {
	for _, child := range b.branches {
		middle := (b.x + child.x) / 2
		late := b.x + .7*(child.x-b.x)
		path := points("M", b.x, b.y) + points("C", late, b.y, middle, child.y, child.x, child.y)
		if child.onWay {
			d.ways += path
		} else {
			d.wires += path
		}
		d.wire(child)
	}
}

func (t TreePicture) bar(b *branch) bar {
	drawn := bar{x: treeBars, y: b.y, width: treeBarWidth, now: b.onWay, shut: b.node.Shut}
	switch {
	case b.node.Shut:
	case len(b.node.Children) == 0:
		drawn.parts = []part{{full: share(b.node.Count, t.Room)}}
	default:
		for _, child := range b.node.Children {
			drawn.parts = append(drawn.parts, part{full: share(child.Count, t.Room*leavesOf(child))})
		}
	}
	return drawn
}

func leavesOf(n Node) int64 {
	if len(n.Children) == 0 {
		return 1
	}
	leaves := int64(0)
	for _, child := range n.Children {
		leaves += leavesOf(child)
	}
	return leaves
}

func (b *branch) count() string {
	if b.node.Shut {
		return "shut"
	}
	return Grouped(b.node.Count)
}

func (b *branch) text() mark {
	if b.x < 30 {
		return mark{2, "start", b.label()}
	}
	return mark{b.x, "middle", b.label()}
}

func (b *branch) radius() float64 {
	if b.depth == 0 {
		return 7
	}
	return 5
}
