package web

import (
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// keysShown is how many keys the table under the hood names.
const keysShown = 24

// hood draws how the newest pages and the ranking lie in the store. The way to
// the page with the slug that is asked for is marked.
func (s *Site) hood(v *visit) (answer, error) {
	h, err := s.app.UnderHood(v.Context(), v.FormValue("page"))
	if err != nil {
		return answer{}, err
	}
	page := pages.Hood{
		Store:   s.storeWords(),
		Ring:    ringPicture(h.Ring),
		RingKey: commonKey(h.Ring),
		Tree:    treePicture(h.Tree, v.FormValue("page")),
		TreeKey: "rank",
		Keys:    templates.KeyTable{Caption: "Keys of the ring and of the tree, what they hold, and their size"},
		Count:   templates.Grouped(int64(min(keysShown, len(h.Keys)))) + " of " + templates.Grouped(int64(len(h.Keys))),
	}
	for _, k := range h.Keys[:min(keysShown, len(h.Keys))] {
		page.Keys.Rows = append(page.Keys.Rows, templates.KeyRow(k))
	}
	return answer{title: "Under the hood", body: page.Body()}, nil
}

func (s *Site) storeWords() string {
	words := "All of it is in one store"
	if s.config.Kind != "" {
		words += " (" + s.config.Kind + ")"
	}
	if s.config.Prefix != "" {
		words += ", under keys that begin with " + s.config.Prefix + ":"
	}
	return strings.TrimSuffix(words, ":") + "."
}

func ringPicture(r ashiato.RingShape) templates.RingPicture {
	p := templates.RingPicture{
		Title: "The ring of the newest pages", Newest: r.Newest, Counter: r.Counter, Counts: "numbers given",
		Words: "Writing takes the next number and appends to its segment. After the last segment the ring goes on with the first. A stale place names a page that has moved on; a missing one was never written. Readers skip both.",
	}
	for _, s := range r.Segments {
		segment := templates.Segment{Name: lastPart(s.Key)}
		for _, place := range s.Places {
			segment.Places = append(segment.Places, templates.Place(place))
		}
		p.Segments = append(p.Segments, segment)
	}
	return p
}

// lastPart returns what tells keys of one ring apart.
func lastPart(key string) string { return key[strings.LastIndexAny(key, ":#")+1:] }

// commonKey returns what all keys of a ring begin with.
func commonKey(r ashiato.RingShape) string {
	if len(r.Segments) == 0 {
		return "t:Page:Newest"
	}
	key := r.Segments[0].Key
	return strings.TrimRight(strings.TrimSuffix(key, lastPart(key)), ":#")
}

func treePicture(t ashiato.TreeShape, slug string) templates.TreePicture {
	p := templates.TreePicture{
		Title: "The tree of the ranking", Root: node(t.Root), Room: t.Room, Way: t.Way,
		Words: "A name is a place: 00 is the lowest quarter of its parent, 11 the highest. Four boxes are a router and its leaves.",
	}
	if slug != "" {
		p.Goal = "way to " + slug
	}
	return p
}

func node(n ashiato.TreeNode) templates.Node {
	out := templates.Node{Name: n.Name, Count: n.Count, Shut: n.Shut}
	for _, child := range n.Children {
		out.Children = append(out.Children, node(child))
	}
	return out
}
