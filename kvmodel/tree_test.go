package kvmodel_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestTree_ShowsEachItemOnceBelowItsParent(t *testing.T) {
	r := kvmodel.NewRecords(open(t, memkv.New(memkv.Options{})), simpleNotes())
	parent := func(n *note) string { return n.Text }
	byID := func(a, b *note) int { return strings.Compare(a.ID, b.ID) }
	shown := func(edges ...string) (lines []string) {
		var items []*note
		for _, edge := range edges {
			id, of, _ := strings.Cut(edge, "<")
			items = append(items, &note{ID: id, Text: of})
		}
		for range 10 {
			rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			lines = nil
			for _, b := range kvmodel.Tree(r, items, parent, byID) {
				lines = append(lines, fmt.Sprint(strings.Repeat("-", b.Depth), b.Item.ID))
			}
		}
		return lines
	}
	for _, test := range []struct{ edges, want []string }{
		{nil, nil},
		{[]string{"b", "a", "c<a", "d<c", "e<a", "f<b"}, []string{"a", "-c", "--d", "-e", "b", "-f"}},
		{[]string{"a<deleted", "b<a"}, []string{"a", "-b"}},
		{[]string{"a<b", "b<c", "c<a", "d<b", "e"}, []string{"e", "a", "-c", "--b", "---d"}},
		{[]string{"a<a"}, []string{"a"}},
	} {
		wantSame(t, test.want, shown(test.edges...), "%v", test.edges)
	}
}
