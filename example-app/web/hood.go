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

// keysShown is the number of keys of each picture that the table lists.
const keysShown = 12

// hood draws the keys behind the newest pages and the ranking. It marks the path to
// the page whose slug the query names.
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
		Keys:    templates.KeyTable{Caption: "Keys of the ring and the tree, with their contents and sizes"},
	}
	for _, keys := range [][]ashiato.KeyInfo{h.RingKeys, h.TreeKeys} {
		for _, k := range keys[:min(keysShown, len(keys))] {
			k.Key = s.stored(k.Key)
			page.Keys.Rows = append(page.Keys.Rows, templates.KeyRow(k))
		}
	}
	page.Count = templates.Grouped(int64(len(page.Keys.Rows))) + " of " + templates.Grouped(int64(len(h.RingKeys)+len(h.TreeKeys)))
	return answer{title: "Under the hood", here: "/hood", body: page.Body()}, nil
}

func (s *Site) storeWords() string {
	words := "Everything is in one store"
	if s.config.Kind != "" {
		words += " (" + s.config.Kind + ")"
	}
	if s.config.Tenant != "" {
		words += ", under keys that start with " + s.stored("")
	}
	return words + "."
}

// stored returns a key as it is in the store, with the tenant's prefix.
func (s *Site) stored(key string) string {
	if s.config.Tenant == "" {
		return key
	}
	return kv.JoinText(s.config.Tenant) + ":" + key
}

// kinds maps the states of a slot to what the picture shows.
var kinds = map[timeline.Slot]templates.Slot{
	timeline.Free: templates.Unwritten, timeline.Filled: templates.Filled,
	timeline.Stale: templates.Stale, timeline.Missing: templates.Missing,
}

func ringPicture(r timeline.Picture) templates.RingPicture {
	p := templates.RingPicture{
		Title: "The ring of the newest pages", Newest: r.Newest, Counter: r.Head,
		Words: "Each entry takes the next number and is appended to that number’s segment. After the last segment, the ring continues with the first. A stale slot refers to a page that has moved or is gone. A missing slot was never written. Readers skip both.",
	}
	room := 0
	for _, s := range r.Segments {
		segment := templates.Segment{Name: lastPart(s.Key)}
		for _, slot := range s.Slots {
			segment.Slots = append(segment.Slots, kinds[slot])
		}
		p.Segments = append(p.Segments, segment)
		room += len(s.Slots)
	}
	p.Counts = "numbers used, room for " + templates.Grouped(int64(room))
	return p
}

// lastPart returns the part in which the keys of one ring differ.
func lastPart(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// commonPart returns the part that the keys of one ring share.
func commonPart(r timeline.Picture) string {
	return strings.TrimSuffix(r.Segments[0].Key, lastPart(r.Segments[0].Key))
}

func treePicture(t ranking.Picture, slug string) templates.TreePicture {
	p := templates.TreePicture{
		Title: "The tree of the ranking", Root: node(t.Root), Room: int64(t.Room),
		Words: "A node’s name gives its range of scores: 00 is the lowest quarter of its parent, and 11 is the highest. Four boxes stand for a router and its leaves.",
	}
	for _, leaf := range t.Leaves {
		p.Way, p.Goal = leaf, "path to "+slug
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
