package pictures

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/ringtree/ringtree/examples/posttree"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

const most = 1 << 14

// way is the number of keys on the longest path in a tree of members.
type way struct{ members, keys int }

// depth draws the depth of the tree of package posttree, at its worst and as usual, and of a board.
func depth(ctx context.Context) ([]byte, error) {
	shuffle := rand.New(rand.NewPCG(1, 2)).Perm(most)
	ascending, ends, err := postWays(ctx, inOrder)
	shuffled, _, err2 := postWays(ctx, func(i int) int64 { return int64(shuffle[i]) })
	ours, err3 := boardWays(ctx)
	return []byte(drawWays(
		line{"the post's tree, scores ascending", "#b3261e", ascending, ends},
		line{"the post's tree, scores at random", "#6b7280", shuffled, false},
		line{"package ranking, scores ascending", "#1d5fa8", ours, false},
	)), errors.Join(err, err2, err3)
}

func inOrder(i int) int64 { return int64(i) }

// postWays returns the longest path in the post's tree at each power of two, and whether the tree
// ended early: then the last path is the one at its end.
func postWays(ctx context.Context, score func(int) int64) (ways []way, ends bool, err error) {
	tree := posttree.New(memkv.New(memkv.Options{}))
	longest := 0
	for i := range most {
		name, err := tree.Insert(ctx, posttree.Member{Score: score(i), ID: fmt.Sprint(i)})
		if errors.Is(err, kv.ErrBadKey) {
			return append(ways, way{i, longest}), true, nil
		}
		if err != nil {
			return nil, false, err
		}
		longest = max(longest, len(name)-len(posttree.Root)+1)
		if isPowerOfTwo(i + 1) {
			ways = append(ways, way{i + 1, longest})
		}
	}
	return ways, false, nil
}

type asJSON struct{}

func (asJSON) Append(dst []byte, m *posttree.Member) ([]byte, error) {
	b, err := json.Marshal(m)
	return append(dst, b...), err
}

func (asJSON) Unmarshal(data []byte, m *posttree.Member) (bool, error) {
	return false, json.Unmarshal(data, m)
}

func (asJSON) Merge(_, next []byte) ([]byte, error) { return next, nil }

func boardWays(ctx context.Context) (ways []way, err error) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	if err != nil {
		return nil, err
	}
	members := kvmodel.NewRecords(db, kvmodel.Schema[posttree.Member, string]{
		Name: "Member", Version: 1, Key: kvmodel.StringKey[string](), Codec: asJSON{},
		ID: func(m *posttree.Member) string { return m.ID }, SetID: func(m *posttree.Member, id string) { m.ID = id },
	})
	board := ranking.NewBoard(members, ranking.Spec[posttree.Member, int64]{
		Name: "TopScore", Of: ranking.Int[int64](), Score: func(m *posttree.Member) int64 { return m.Score },
	})
	for i := range most {
		if err := members.Create(ctx, &posttree.Member{Score: inOrder(i), ID: fmt.Sprint(i)}); err != nil {
			return nil, err
		}
		if !isPowerOfTwo(i + 1) {
			continue
		}
		report, err := board.Verify(ctx)
		if err != nil || report.Members != i+1 {
			return nil, fmt.Errorf("verify %d members: %+v, %w", i+1, report, err)
		}
		ways = append(ways, way{i + 1, report.Depth + 1})
	}
	return ways, db.Close(ctx)
}

func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }

type line struct {
	label, color string
	ways         []way
	ends         bool // with a cross: the tree cannot grow any further
}

// The origin of the axes, and the distance between two powers of two on each.
const (
	left, bottom = 70, 380
	stepX, stepY = 34, 42
	powersX      = 14
	powersY      = 8
)

func x(members int) float64 { return left + stepX*math.Log2(float64(members)) }
func y(keys int) float64    { return bottom - stepY*math.Log2(float64(keys)) }

func drawWays(lines ...line) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 790 440" font-family="sans-serif" font-size="13" role="img" aria-labelledby="title">
<title id="title">The longest way to a member, in keys, over the number of members</title>
<rect width="790" height="440" fill="#ffffff"/>
`)
	for p := range powersY + 1 {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#e5e7eb"/><text x="%d" y="%.1f" text-anchor="end" fill="#374151">%d</text>`+"\n",
			left, y(1<<p), left+stepX*powersX, left-8, y(1<<p)+4, 1<<p)
	}
	for p := 0; p <= powersX; p += 2 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle" fill="#374151">%d</text>`+"\n", x(1<<p), bottom+20, 1<<p)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="#374151">members</text>`+"\n", left+stepX*powersX/2, bottom+44)
	fmt.Fprintf(&b, `<text x="14" y="24" fill="#374151">keys on the longest way to a member</text>`+"\n")
	for _, l := range lines {
		l.draw(&b)
	}
	return b.String() + "</svg>\n"
}

func (l line) draw(b *strings.Builder) {
	var path []string
	for _, w := range l.ways {
		path = append(path, fmt.Sprintf("%.1f %.1f", x(w.members), y(w.keys)))
	}
	fmt.Fprintf(b, `<path d="M%s" fill="none" stroke="%s" stroke-width="2.5"/>`+"\n", strings.Join(path, " L"), l.color)
	last := l.ways[len(l.ways)-1]
	atX, atY, label := x(last.members), y(last.keys), fmt.Sprintf("%s: %d", l.label, last.keys)
	if l.ends {
		fmt.Fprintf(b, `<path d="M%.1f %.1fl12 12m0 -12l-12 12" stroke="%s" stroke-width="2.5"/>`+"\n", atX-6, atY-6, l.color)
		label = fmt.Sprintf("%s, and no key for one more", label)
	}
	anchor := "start"
	if last.members == most {
		anchor = "end"
		atY -= 20
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="%s">%s</text>`+"\n", atX+10, atY+12, anchor, l.color, label)
}
