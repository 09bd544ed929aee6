package web

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/templates"
	"github.com/ringtree/ringtree/timeline"
)

// keysShown is the number of keys of each picture that the table lists.
const keysShown = 12

// hood draws the keys behind one list of the site, or behind the newest pages and the
// ranking. It marks the way to one page or topic.
func (s *Site) hood(v *visit) (answer, error) {
	looks, err := s.look(v.Context(), v.URL.Query())
	if err != nil {
		return answer{}, err
	}
	page := pages.Hood{
		Store: s.storeWords(),
		Live:  "/live?" + hoodQuery(v.URL.Query()).Encode(),
		Parts: s.hoodParts(looks, nil),
		Keys:  templates.KeyTable{Caption: "Keys of the pictures, with their contents and sizes"},
	}
	for _, l := range ashiato.Lists {
		link := templates.Link{Text: l.Title, Href: with("/hood", "list", l.Name)}
		if l.Name == looks[0].Name && len(looks) == 1 {
			link.Href = ""
		}
		page.Lists = append(page.Lists, link)
	}
	if asks := looks[len(looks)-1]; asks.Asks != "" {
		page.List, page.Field = asks.Name, askField(asks)
	}
	of := 0
	for _, l := range looks {
		of += len(l.Keys)
		for _, k := range l.Keys[:min(keysShown, len(l.Keys))] {
			k.Key = ending(k.Key)
			page.Keys.Rows = append(page.Keys.Rows, templates.KeyRow(k))
		}
	}
	page.Count = templates.Grouped(int64(len(page.Keys.Rows))) + " of " + counted(int64(of), "key", "keys") + " read"
	return answer{title: "Under the hood", here: "/hood", live: true, body: page.Body()}, nil
}

// hoodQuery returns what the query of a page under the hood asks for, as the address of
// its stream has it.
func hoodQuery(query url.Values) url.Values {
	kept := url.Values{"hood": {""}}
	for _, name := range []string{"list", "of", "page"} {
		if text := query.Get(name); text != "" {
			kept.Set(name, text)
		}
	}
	return kept
}

// look looks at the list that a query names, or at two that show most.
func (s *Site) look(ctx context.Context, query url.Values) ([]*ashiato.Look, error) {
	if list := query.Get("list"); list != "" {
		l, err := s.app.Look(ctx, list, query.Get("of"))
		return []*ashiato.Look{l}, err
	}
	looks := make([]*ashiato.Look, 2)
	err := s.app.DB().SideBySide(ctx,
		func(ctx context.Context) (err error) { looks[0], err = s.app.Look(ctx, "newest", ""); return err },
		func(ctx context.Context) (err error) {
			looks[1], err = s.app.Look(ctx, "views", query.Get("page"))
			return err
		})
	return looks, err
}

// askField returns the field for what a list is about.
func askField(l *ashiato.Look) templates.Field {
	f := templates.Field{Name: "of", Label: "Handle of the member", Value: l.Of, Required: l.Needs}
	switch l.Asks {
	case "page":
		f.Label = "Address of the page, as it ends"
	case "topic":
		f.Label = "Topic"
	}
	if !l.Needs {
		f.Label += ", to draw the way to it"
	}
	return f
}

// hoodParts returns the pictures of looks. What has changed since the looks before, if
// there are some, is lit.
func (s *Site) hoodParts(looks, before []*ashiato.Look) []pages.HoodPart {
	var parts []pages.HoodPart
	for i, l := range looks {
		old := l
		if before != nil {
			old = before[i]
		}
		part := pages.HoodPart{Title: l.Title, Picture: picture(l, old)}
		if l.Of != "" {
			part.Title += ": " + l.Of
		}
		if len(l.Keys) > 0 {
			part.Key = beginning(s.stored(strings.TrimSuffix(l.Keys[0].Key, lastPart(l.Keys[0].Key))))
		}
		if part.Picture == nil {
			part.Words = "There is nothing in the store yet."
			if l.Needs && l.Of == "" {
				part.Words = "Name a " + l.Asks + " to see this."
			}
		}
		parts = append(parts, part)
	}
	return parts
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

// lastPart returns the part in which the keys of one picture differ.
func lastPart(key string) string { return key[strings.LastIndexByte(key, ':')+1:] }

// How many bytes of a key are shown, so that none takes two lines on a phone.
const (
	longestBeginning = 32
	longestEnding    = 10
)

// beginning returns the beginning of a key.
func beginning(key string) string {
	if len(key) <= longestBeginning {
		return key
	}
	return strings.ToValidUTF8(key[:longestBeginning], "") + "…"
}

// ending returns the end of a key, in which it differs from those beside it.
func ending(key string) string {
	end := lastPart(key)
	end = end[max(0, strings.LastIndexByte(end, '#')):]
	for len(end) > longestEnding {
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return "…" + end
}

// picture draws a look, nil if there is nothing to draw, and lights what was not so before.
func picture(l, before *ashiato.Look) templ.Component {
	switch {
	case l.Ring != nil:
		p := ringPicture(l.Ring)
		if before.Ring != nil {
			p.Lit = freshSlots(l.Ring, before.Ring.Head)
		}
		return p
	case l.Tree != nil:
		p := treePicture(l)
		if before.Tree != nil {
			p.Lit = changedNodes(l.Tree.Root, statesOf(before.Tree.Root, map[string]uint64{}))
		}
		return p
	case l.Log != nil:
		return logPicture(l, before)
	}
	return nil
}

// slots maps the states of a slot to what the picture shows.
var slots = map[timeline.Slot]templates.Slot{
	timeline.Free: templates.Unwritten, timeline.Filled: templates.Filled, timeline.Stale: templates.Stale,
	timeline.Missing: templates.Missing, timeline.Unchecked: templates.Unchecked,
}

func ringPicture(r *timeline.Picture) templates.RingPicture {
	p := templates.RingPicture{
		Title: "The ring as it is stored", Newest: r.Newest, Counter: r.Head,
		Words: "Each entry takes the next number and is appended to that number’s segment. After the last segment, the ring continues with the first. A stale slot refers to a record that has moved or is gone; a missing one was never written. Readers skip both.",
	}
	room := 0
	for _, s := range r.Segments {
		segment := templates.Segment{Name: s.Key[strings.LastIndexByte(s.Key, '.')+1:]}
		for _, slot := range s.Slots {
			segment.Slots = append(segment.Slots, slots[slot])
		}
		p.Segments = append(p.Segments, segment)
		room += len(s.Slots)
	}
	if slices.ContainsFunc(r.Segments, func(s timeline.Segment) bool { return slices.Contains(s.Slots, timeline.Unchecked) }) {
		p.Words += " Only the newest entries were compared with their records; the others are gray."
	}
	p.Counts = "numbers used, room for " + templates.Grouped(int64(room))
	return p
}

// freshSlots returns the slots with numbers above head, counted over all segments.
func freshSlots(r *timeline.Picture, head int64) (fresh []int) {
	before := 0
	for _, s := range r.Segments {
		for i, slot := range s.Slots {
			if n := s.First + int64(i); n > head && n <= r.Head && slot != timeline.Free {
				fresh = append(fresh, before+i)
			}
		}
		before += len(s.Slots)
	}
	return fresh
}

func treePicture(l *ashiato.Look) templates.TreePicture {
	p := templates.TreePicture{
		Title: "The tree as it is stored", Root: node(l.Tree.Root), Room: int64(l.Tree.Room),
		Words: "A node’s name is the way to it from the root, which is key0. The further down in the picture, the later in the order. Four boxes stand for a router and the nodes below it. At most 64 nodes were read.",
	}
	for _, leaf := range l.Tree.Leaves {
		p.Way, p.Goal = leaf, "way to "+l.Of
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

// statesOf adds the states of the nodes from n down to states.
func statesOf(n ranking.Node, states map[string]uint64) map[string]uint64 {
	states[n.Name] = n.State
	for _, below := range n.Below {
		statesOf(below, states)
	}
	return states
}

// changedNodes returns the names of the nodes from n down that had another state before.
func changedNodes(n ranking.Node, before map[string]uint64) (changed []string) {
	if state, known := before[n.Name]; n.Read && (!known || state != n.State) {
		changed = append(changed, n.Name)
	}
	for _, below := range n.Below {
		changed = append(changed, changedNodes(below, before)...)
	}
	return changed
}

// logPicture draws the segments of a list, and marks those that have changed.
func logPicture(l, before *ashiato.Look) templates.ListPicture {
	p := templates.ListPicture{
		Title: "The list as it is stored", Room: int64(max(1, l.Log.Room)),
		Words: "Members are appended to segments. A segment that is full is divided; what has left is dropped when that happens.",
	}
	known := map[string]int{}
	if before.Log != nil {
		for _, s := range before.Log.Segments {
			known[s.Key] = s.Bytes
		}
	}
	for _, s := range l.Log.Segments {
		bytes, was := known[s.Key]
		p.Segments = append(p.Segments, templates.ListSegment{
			Name: lastPart(s.Key), Live: int64(s.Live), Stale: int64(s.Stale), Asked: !was || bytes != s.Bytes,
		})
	}
	return p
}
