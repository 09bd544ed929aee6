package ashiato

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

// Look is how a list of the site lies in the store now: in a ring, a tree or segments.
type Look struct {
	Shown
	Of   string // the one whose list it is, or to whom a way is drawn
	Ring *timeline.Picture
	Tree *ranking.Picture
	Log  *index.Picture
	Keys []KeyInfo // those that were read: the newest segment first, or the root

	Rebuilding bool // the list has to be rebuilt first
}

// KeyInfo is a key of the store and what it holds.
type KeyInfo struct {
	Key     string
	Holds   string
	Entries int64
	Bytes   int64
}

// Shown is a list of the site that can be looked at.
type Shown struct {
	Name  string // in addresses
	Title string
	Asks  string // what it is about: "page", "member" or "topic"; "" for nothing
	Needs bool   // there is no such list without an Of

	draw func(ctx context.Context, s *Site, l *Look, id string) error
}

// Lists are all that Look shows: every ring, board and list that visitors see.
var Lists = []Shown{
	{"newest", "Newest pages", "", false, ringOf(func(s *Site, _ string) *timeline.Ring[Page] { return s.Models.Pages.Newest })},
	{"views", "Most viewed pages", "page", false, boardOf(func(s *Site) *ranking.Board[Page, string, int64] { return s.Models.Pages.TopViews })},
	{"today", "Most viewed today", "page", false, boardOf(func(s *Site) *ranking.Board[Page, string, int64] { return s.Models.Pages.TopViewsPerDay })},
	{"week", "Most viewed this week", "page", false, boardOf(func(s *Site) *ranking.Board[Page, string, int64] { return s.Models.Pages.TopViewsPerWeek })},
	{"liked", "Most liked pages", "page", false, boardOf(func(s *Site) *ranking.Board[Page, string, int64] { return s.Models.Pages.TopLikes })},
	{"titles", "Titles from A to Z", "page", false, boardOf(func(s *Site) *ranking.Board[Page, string, string] { return s.Models.Pages.TitleAZ })},
	{"topics", "Largest topics", "topic", false, boardOf(func(s *Site) *ranking.Board[Topic, string, int64] { return s.Models.Topics.TopPages })},
	{"topic", "Pages on a topic", "topic", true, logOf(func(s *Site, of string) *index.List[Page, string] { return s.Models.Pages.ByTopics.Of(of) })},
	{"topic-followers", "Followers of a topic", "topic", true, logOf(func(s *Site, of string) *index.List[Interest, InterestID] { return s.Models.Interests.ByTopic.Of(of) })},
	{"members", "Newest members", "member", false, boardOf(func(s *Site) *ranking.Board[Member, string, time.Time] { return s.Models.Members.Newcomers })},
	{"author", "Pages of a member", "member", true, ringOf(func(s *Site, of string) *timeline.Ring[Page] { return s.Models.Pages.NewestByAuthor.Of(of) })},
	{"followers", "Followers of a member", "member", true, logOf(func(s *Site, of string) *index.List[Follow, FollowID] { return s.Models.Follows.ByFollowed.Of(of) })},
	{"likes", "Likes of a page", "page", true, logOf(func(s *Site, of string) *index.List[Like, LikeID] { return s.Models.Likes.ByPage.Of(of) })},
	{"comments", "Comments on a page", "page", true, ringOf(func(s *Site, of string) *timeline.Ring[Comment] { return s.Models.Comments.NewestByPage.Of(of) })},
}

// The most that a look reads.
const (
	lookEntries  = 30 // the newest of a ring, with their records
	lookNodes    = 64
	lookSegments = 64
)

// Look reads how a list lies in the store. Of a ranking, it also reads the nodes from the
// root to the position of one page or topic, if there is such a one. It returns
// ErrNotFound for an unknown list, or for the list of someone or something unknown.
func (s *Site) Look(ctx context.Context, list, of string) (*Look, error) {
	at := slices.IndexFunc(Lists, func(l Shown) bool { return l.Name == list })
	if at < 0 {
		return nil, fmt.Errorf("%w: no list %q", kvmodel.ErrNotFound, list)
	}
	l := &Look{Shown: Lists[at], Of: of}
	id, err := s.idOf(ctx, l.Asks, of)
	if l.Needs && of == "" {
		return l, nil
	}
	if !l.Needs {
		err = unlessGone(err)
	}
	if err == nil {
		err = l.draw(ctx, s, l, id)
	}
	if err := orRebuilding(&l.Rebuilding, err); err != nil {
		return nil, err
	}
	return l, nil
}

// idOf returns the id of a page by its slug, of a member by their handle, or of a topic.
func (s *Site) idOf(ctx context.Context, what, name string) (string, error) {
	if name == "" {
		return "", nil
	}
	switch what {
	case "page":
		p, err := s.Models.Pages.BySlug.Find(ctx, normal(name))
		if err != nil {
			return "", err
		}
		return p.ID, nil
	case "member":
		m, err := s.Find(ctx, name)
		if err != nil {
			return "", err
		}
		return m.ID, nil
	case "topic":
		t, err := s.Models.Topics.Get(ctx, normal(name))
		if err != nil {
			return "", err
		}
		return t.Name, nil
	}
	return "", nil
}

func ringOf[T any](ring func(s *Site, of string) *timeline.Ring[T]) func(context.Context, *Site, *Look, string) error {
	return func(ctx context.Context, s *Site, l *Look, id string) error {
		rings, err := ring(s, id).Pictures(ctx, lookEntries)
		if err == nil && len(rings) > 0 {
			l.Ring = &rings[0]
			l.Keys = ringKeys(l.Ring)
		}
		return err
	}
}

func boardOf[T any, S any](board func(s *Site) *ranking.Board[T, string, S]) func(context.Context, *Site, *Look, string) error {
	return func(ctx context.Context, s *Site, l *Look, id string) error {
		var ids []string
		if id != "" {
			ids = []string{id}
		}
		tree, err := board(s).Picture(ctx, lookNodes, ids...)
		if err == nil && tree.Root.Key != "" {
			l.Tree = &tree
			l.Keys = treeKeys(tree.Root)
		}
		return err
	}
}

func logOf[T any, K comparable](list func(s *Site, of string) *index.List[T, K]) func(context.Context, *Site, *Look, string) error {
	return func(ctx context.Context, s *Site, l *Look, id string) error {
		log, err := list(s, id).Picture(ctx, lookSegments)
		if err == nil && len(log.Segments) > 0 {
			l.Log = &log
			for _, segment := range log.Segments {
				l.Keys = append(l.Keys, KeyInfo{segment.Key, "segment", int64(segment.Live), int64(segment.Bytes)})
			}
		}
		return err
	}
}

// ringKeys returns the keys of the ring that are in the store, newest segment
// first.
func ringKeys(ring *timeline.Picture) (keys []KeyInfo) {
	n := len(ring.Segments)
	for i := range n {
		segment, holds := ring.Segments[(ring.Newest-i+n)%n], "segment"
		if i == 0 {
			holds = "segment, newest"
		}
		if segment.Bytes > 0 {
			keys = append(keys, KeyInfo{segment.Key, holds, int64(segment.Entries), int64(segment.Bytes)})
		}
	}
	return keys
}

// treeKeys returns the keys of n and the nodes below it, as far as they were read.
func treeKeys(n ranking.Node) []KeyInfo {
	if !n.Read {
		return nil
	}
	holds := "leaf"
	if len(n.Below) > 0 {
		holds = "router"
	}
	keys := []KeyInfo{{n.Key, holds, int64(n.Count), int64(n.Bytes)}}
	for _, below := range n.Below {
		keys = append(keys, treeKeys(below)...)
	}
	return keys
}

// Health asks the store for something. It returns nil if the store answers, and
// kvmodel.ErrUnavailable if it does not.
func (s *Site) Health(ctx context.Context) error {
	_, err := s.Models.Members.Get(ctx, "nobody")
	return unlessGone(err)
}
