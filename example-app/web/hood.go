package web

import (
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/templates"
	"github.com/ringtree/ringtree/timeline"
)

// keysShown is how many keys of each picture the table under the hood names.
const keysShown = 12

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
		RingKey: s.stored(commonPart(h.Ring)),
		Tree:    treePicture(h.Tree, v.FormValue("page")),
		TreeKey: s.stored(strings.TrimSuffix(h.Tree.Root.Key, h.Tree.Root.Name)),
		Keys:    templates.KeyTable{Caption: "Keys of the ring and of the tree, what they hold, and their size"},
	}
	for _, keys := range [][]ashiato.KeyInfo{h.RingKeys, h.TreeKeys} {
		for _, k := range keys[:min(keysShown, len(keys))] {
			k.Key = s.stored(k.Key)
			page.Keys.Rows = append(page.Keys.Rows, templates.KeyRow(k))
		}
	}
	page.Count = templates.Grouped(int64(len(page.Keys.Rows))) + " of " + templates.Grouped(int64(len(h.RingKeys)+len(h.TreeKeys)))
	return answer{title: "Under the hood", body: page.Body()}, nil
}

func (s *Site) storeWords() string {
	words := "All of it is in one store"
	if s.config.Kind != "" {
		words += " (" + s.config.Kind + ")"
	}
	if s.config.Tenant != "" {
		words += ", under keys that begin with " + s.stored("")
	}
	return words + "."
}

// stored returns a key as the store has it, which the tenant's name is part of.
func (s *Site) stored(key string) string {
	if s.config.Tenant == "" {
		return key
	}
	return kv.JoinText(s.config.Tenant) + ":" + key
}

// kinds are the states of a place as the picture names them.
var kinds = map[timeline.Slot]templates.Place{
	timeline.Free: templates.Unwritten, timeline.Filled: templates.Filled,
	timeline.Stale: templates.Stale, timeline.Missing: templates.Missing,
}

func ringPicture(r timeline.Picture) templates.RingPicture {
	p := templates.RingPicture{
		Title: "The ring of the newest pages", Newest: r.Newest, Counter: r.Head,
		Words: "Writing takes the next number and appends to its segment. After the last segment the ring goes on with the first. A stale place names a page that has moved on; a missing one was never written. Readers skip both.",
	}
	kept := 0
	for _, s := range r.Segments {
		segment := templates.Segment{Name: lastPart(s.Key)}
		for _, slot := range s.Slots {
			segment.Places = append(segment.Places, kinds[slot])
		}
		p.Segments = append(p.Segments, segment)
		kept += len(s.Slots)
	}
	p.Counts = "numbers given, " + templates.Grouped(int64(kept)) + " kept"
	return p
}

// lastPart returns what tells keys of one ring apart.
func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// commonPart returns what the keys of a ring begin with.
func commonPart(r timeline.Picture) string {
	return strings.TrimSuffix(r.Segments[0].Key, lastPart(r.Segments[0].Key))
}

func treePicture(t ranking.Picture, slug string) templates.TreePicture {
	p := templates.TreePicture{
		Title: "The tree of the ranking", Root: node(t.Root), Room: int64(t.Room),
		Words: "A name is a place: 00 is the lowest quarter of its parent, 11 the highest. Four boxes are a router and its leaves.",
	}
	for _, leaf := range t.Leaves {
		p.Way, p.Goal = leaf, "way to "+slug
	}
	return p
}

func node(n ranking.Node) templates.Node {
	out := templates.Node{Name: n.Name, Count: int64(n.Count), Shut: n.Closed}
	for _, child := range n.Below {
		out.Children = append(out.Children, node(child))
	}
	return out
}
