package posttree_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/posttree"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

var update = flag.Bool("update", false, "draw the picture in docs again")

const picture = "../../docs/ranking-depth.svg"

// most is how many members the largest trees of the picture have.
const most = 1 << 14

// way is how many keys the longest way to one of so many members has.
type way struct{ members, keys int }

// TestPicture_ShowsTheDepthsThatAreMeasured draws both trees, the first one also in
// its best case, and compares that to the picture in docs.
func TestPicture_ShowsTheDepthsThatAreMeasured(t *testing.T) {
	ascending, ends := postWays(t, inOrder)
	shuffled, _ := postWays(t, func(i int) int64 { return int64(shuffle[i]) })
	ours := boardWays(t)

	if last := ascending[len(ascending)-1]; !ends || last.keys != last.members {
		t.Errorf("ascending inserts: the last way is %+v; want a chain that ends", last)
	}
	if last := ours[len(ours)-1]; last.members != most || last.keys > 8 {
		t.Errorf("the board's way is %+v; want at most 8 keys among %d", last, most)
	}
	got := draw(
		line{"the post's tree, scores ascending", "#b3261e", ascending, ends},
		line{"the post's tree, scores at random", "#6b7280", shuffled, false},
		line{"package ranking, scores ascending", "#1d5fa8", ours, false},
	)
	if *update {
		must(t, os.WriteFile(picture, []byte(got), 0o644))
	}
	want, err := os.ReadFile(picture)
	must(t, err)
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is stale: run go test ./examples/posttree -update (-want +got)\n%s", picture, diff)
	}
}

func inOrder(i int) int64 { return int64(i) }

var shuffle = rand.New(rand.NewPCG(1, 2)).Perm(most)

// postWays inserts members with these scores into the post's tree. It returns the
// longest way at each power of two, and whether the tree ended early: then the last
// way is the one at its end.
func postWays(t *testing.T, score func(int) int64) (ways []way, ends bool) {
	tree := posttree.New(memkv.New(memkv.Options{}))
	longest := 0
	for i := range most {
		name, err := tree.Insert(ctx, posttree.Member{Score: score(i), ID: fmt.Sprint(i)})
		if errors.Is(err, kv.ErrBadKey) {
			return append(ways, way{i, longest}), true
		}
		must(t, err)
		longest = max(longest, len(name)-len(posttree.Root)+1)
		if isPowerOfTwo(i + 1) {
			ways = append(ways, way{i + 1, longest})
		}
	}
	return ways, false
}

// asJSON stores members.
type asJSON struct{}

func (asJSON) Append(dst []byte, m *posttree.Member) ([]byte, error) {
	b, err := json.Marshal(m)
	return append(dst, b...), err
}

func (asJSON) Unmarshal(data []byte, m *posttree.Member) (bool, error) {
	return false, json.Unmarshal(data, m)
}

func (asJSON) Merge(_, next []byte) ([]byte, error) { return next, nil }

// boardWays is postWays for ascending scores on a board of package ranking.
func boardWays(t *testing.T) (ways []way) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	members := kvmodel.NewRecords(db, kvmodel.Schema[posttree.Member, string]{
		Name: "Member", Version: 1, Key: kvmodel.StringKey[string](), Codec: asJSON{},
		ID: func(m *posttree.Member) string { return m.ID }, SetID: func(m *posttree.Member, id string) { m.ID = id },
	})
	board := ranking.NewBoard(members, ranking.Spec[posttree.Member, int64]{
		Name: "TopScore", Of: ranking.Int[int64](), Score: func(m *posttree.Member) int64 { return m.Score },
	})
	for i := range most {
		must(t, members.Create(ctx, &posttree.Member{Score: inOrder(i), ID: fmt.Sprint(i)}))
		if !isPowerOfTwo(i + 1) {
			continue
		}
		report, err := board.Verify(ctx)
		if err != nil || report.Members != i+1 {
			t.Fatal(report, err)
		}
		ways = append(ways, way{i + 1, report.Depth + 1})
	}
	must(t, db.Close(ctx))
	return ways
}

func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }

// line is one line of the picture.
type line struct {
	label, color string
	ways         []way
	ends         bool // with a cross: the tree cannot grow any further
}

// The picture's measures: where its axes begin, and how far apart two powers of
// two lie on each.
const (
	left, bottom = 70, 380
	stepX, stepY = 34, 42
	powersX      = 14
	powersY      = 8
)

func x(members int) float64 { return left + stepX*math.Log2(float64(members)) }
func y(keys int) float64    { return bottom - stepY*math.Log2(float64(keys)) }

// draw returns the picture of lines, both of whose axes are logarithmic.
func draw(lines ...line) string {
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
