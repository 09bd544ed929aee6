package ranking

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Views of boards and of values for package inspect: see [plug.Window]. A base is that of a tree.

type treeWindow struct{}

func (treeWindow) Said(_ string, value []byte) (texts []string, bodies [][]byte) {
	return keytree.Members(value), nil
}

func (treeWindow) Show(key string, value []byte) ([]string, error) { return keytree.Show(key, value) }

type boardWindow struct {
	*core
	treeWindow
}

func (c *core) Window() plug.Window { return boardWindow{core: c} }

func (c boardWindow) Kind() string { return "board" }

func (c boardWindow) Parted() bool { return c.many }

func (c boardWindow) Bases(text string) (bases []string) {
	p, err := parsePlace(text)
	if err != nil {
		return nil
	}
	for _, at := range c.kept() {
		bases = append(bases, c.tree(p.by, at).Base())
	}
	return bases
}

func (c boardWindow) Base(key string) (base string, first bool) {
	if !c.many && c.per == Forever {
		return exactBase(key, "rank:"+plug.TreeName(c.treeName()))
	}
	begin := "rank:" + c.treeName() + ":"
	if !strings.HasPrefix(key, begin) {
		return "", false
	}
	if base, first = strings.CutSuffix(key, ":meta"); first {
		return base, true
	}
	for at := len(begin); at < len(key); at++ {
		if key[at] == ':' && isTreeEnd(key[at:], c.code) {
			return key[:at], false
		}
	}
	return "", false
}

func exactBase(key, base string) (_ string, first bool) {
	if !strings.HasPrefix(key, base+":") {
		return "", false
	}
	return base, key == base+":meta"
}

func isTreeEnd(rest string, code keytree.Code) bool {
	epoch, node, ok := strings.Cut(rest[1:], ":key0")
	_, err := strconv.ParseUint(epoch, 10, 64)
	return ok && err == nil && code.IsName(node) ||
		rest == ":edge" || rest == ":lease" || strings.HasPrefix(rest, ":i:")
}

// place is a place on the board with this base, or "".
func (c boardWindow) at(base, place string) (part, bool) {
	begin := "rank:" + c.treeName()
	by := ""
	if p, err := parsePlace(place); err == nil && place != "" {
		by = p.by
	} else if c.many {
		by = strings.TrimPrefix(strings.TrimPrefix(base, begin), ":")
		if c.per != Forever {
			by = by[:max(0, strings.LastIndexByte(by, ':'))]
		}
	}
	for _, at := range c.kept() {
		if c.tree(by, at).Base() == base {
			return part{core: c.core, by: by, at: at}, true
		}
	}
	return part{}, false
}

func (c boardWindow) Audit(ctx context.Context, s kv.Store, base, place string) ([]plug.Wrong, error) {
	p, ok := c.at(base, place)
	if !ok {
		return nil, nil // The period was dropped, or no record has the value.
	}
	wrong, err := auditTree(ctx, s, p.tree(p.by, p.when()))
	if err != nil || !c.own {
		return wrong, err
	}
	strays, err := p.strays(ctx, s)
	for _, id := range strays {
		wrong = append(wrong, plug.Wrong{Kind: plug.StrayEntry, ID: id, Text: fmt.Sprintf("%s: %s is a member, but its record does not belong there", base, id)})
	}
	return wrong, err
}

func (p part) restoreMembers(ctx context.Context, s kv.Store) error {
	if !p.own {
		return nil
	}
	r, err := p.tree(p.by, p.when()).Verify(ctx, s, nil)
	if ids := append(r.Stray(), r.Damaged...); err == nil && len(ids) > 0 {
		err = p.catchUp(ctx, p.by, p.when(), ids)
	}
	return p.failure(err)
}

// strays are members with own records but no model record on the board.
func (p part) strays(ctx context.Context, s kv.Store) (strays []string, err error) {
	t := p.tree(p.by, p.when())
	ids, err := membersOf(ctx, s, t)
	for some := range slices.Chunk(ids, membersAtOnce) {
		states, err := t.own.States(ctx, s, some)
		if err != nil {
			return nil, err
		}
		recs, err := p.host.SeeMarks(ctx, s, some...)
		if recs == nil {
			return nil, err
		}
		for i, rec := range recs {
			if states[i].In && !rec.Damaged() && !p.stateOf(p.by, rec).In {
				strays = append(strays, rec.ID)
			}
		}
	}
	return strays, err
}

// membersOf reads the members of t that have records of their own from the keys. It cannot tell
// members with hashed keys, or any if the store cannot list keys.
func membersOf(ctx context.Context, s kv.Store, t tree) (ids []string, err error) {
	keys := kv.PowersOf(s).Keys
	if t.own == nil || keys == nil {
		return nil, nil
	}
	begin := t.own.Key("")
	err = keys(ctx, begin, func(some []string) error {
		for _, key := range some {
			if id := strings.TrimPrefix(key, begin); t.own.Key(id) == key {
				ids = append(ids, id)
			}
		}
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

func auditTree(ctx context.Context, s kv.Store, t tree) (wrong []plug.Wrong, err error) {
	ids, err := membersOf(ctx, s, t)
	if err != nil {
		return nil, err
	}
	r, err := t.Verify(ctx, s, ids)
	if text, ok := plug.Damage(err); ok {
		return []plug.Wrong{{Kind: plug.DamagedItem, Text: t.Base() + ": " + text}}, nil
	}
	if err != nil {
		return nil, err
	}
	add := func(kind, id, format string, args ...any) {
		wrong = append(wrong, plug.Wrong{Kind: kind, ID: id, Text: t.Base() + ": " + fmt.Sprintf(format, args...)})
	}
	for _, text := range r.Wrong {
		add(plug.DamagedItem, "", "%s", text)
	}
	if r.Lost > 0 {
		add(plug.DamagedItem, "", "%d nodes are missing or damaged", r.Lost)
	}
	for _, id := range r.Damaged {
		add(plug.DamagedItem, id, "%s, the record of a member, is damaged", t.own.Key(id))
	}
	for _, id := range r.Missing {
		add(plug.MissingEntry, id, "%s has no entry", id)
	}
	for _, id := range r.Stray() {
		add(plug.StrayEntry, id, "%s has an entry that its record does not confirm", id)
	}
	if r.Drift > 0 && r.Members <= keytree.ExactUpTo {
		add(plug.WrongCount, "", "the counts of its nodes are off by %d", r.Drift)
	}
	return wrong, nil
}

// If the tree lost a node, Amend fills it from all records.
func (c boardWindow) Amend(ctx context.Context, s kv.Store, base, place string) error {
	p, ok := c.at(base, place)
	if !ok {
		return nil
	}
	members, err := membersOf(ctx, s, p.tree(p.by, p.when()))
	if err == nil {
		err = p.restoreMembers(ctx, s)
	}
	if err != nil {
		return err
	}
	err = p.withAllIfLost(ctx, members, func(ids []string, lost uint64) error {
		_, err := p.reader().mend(ctx, ids, lost, p.clear)
		return err
	})
	if err != nil || !c.own {
		return err
	}
	strays, err := p.strays(ctx, s)
	if err != nil || len(strays) == 0 {
		return err
	}
	return c.failure(c.catchUp(ctx, p.by, p.when(), strays))
}

func (c boardWindow) Page(ctx context.Context, s kv.Store, value string, n int) ([]plug.Row, error) {
	t := c.now(value).Tree
	if c.text != nil {
		return c.texts(ctx, s, t, n)
	}
	return topOf(ctx, s, t, n)
}

func (c boardWindow) texts(ctx context.Context, s kv.Store, t *keytree.Tree, n int) (rows []plug.Row, err error) {
	l, err := t.Page(ctx, s, keytree.Between{}, false, nil, n, keytree.Want{})
	for _, m := range l.Members {
		if m.Value != nil {
			rows = append(rows, plug.Row{ID: m.ID, Note: strconv.Quote(c.text(m.Value))})
		}
	}
	return rows, err
}

func (c boardWindow) Picture(ctx context.Context, s kv.Store, value string, most int) (plug.Picture, error) {
	return pictureOf(ctx, s, c.now(value).Tree, most)
}

func pictureOf(ctx context.Context, s kv.Store, t *keytree.Tree, most int) (plug.Picture, error) {
	p, err := t.Picture(ctx, s, most, nil)
	if err != nil || p.Root == nil {
		return plug.Picture{}, err
	}
	root := plainNode(p.Root)
	return plug.Picture{Root: &root, Room: p.Limit}, nil
}

func plainNode(n *keytree.PictureNode) plug.Node {
	out := plug.Node{Name: n.Name, Count: n.Count, Closed: n.Closed}
	for _, below := range n.Below {
		out.Below = append(out.Below, plainNode(below))
	}
	return out
}

func topOf(ctx context.Context, s kv.Store, t *keytree.Tree, n int) (rows []plug.Row, err error) {
	l, err := t.Page(ctx, s, keytree.Between{}, true, nil, n, keytree.Want{Unverified: true})
	for _, m := range l.Members {
		rows = append(rows, plug.Row{ID: m.ID, Note: "score " + scoreText(t.Code, m.Score)})
	}
	return rows, err
}

func scoreText(code keytree.Code, s keytree.Score) string {
	switch code {
	case keytree.Float, keytree.Float.WithTies():
		return strconv.FormatFloat(s.Float(), 'g', -1, 64)
	case keytree.Unsigned, keytree.Unsigned.WithTies():
		return strconv.FormatUint(s.Uint(), 10)
	}
	return strconv.FormatInt(s.Int(), 10)
}

// Counts of a dropped period expire now.
func (c boardWindow) Ends(key string) time.Time {
	if c.per == Forever {
		return time.Time{}
	}
	for _, at := range c.kept() {
		if strings.Contains(key, ":"+kv.JoinText(c.per.name(at))+":") {
			return c.per.add(at, c.keep)
		}
	}
	return c.host.DB().Now()
}

type valuesWindow struct {
	*valuesIndex
	treeWindow
}

func (x *valuesIndex) Window() plug.Window { return valuesWindow{valuesIndex: x} }

func (x valuesWindow) Kind() string { return "values" }

func (x valuesWindow) Bases(string) []string { return []string{x.tree.Base()} }

func (x valuesWindow) Base(key string) (base string, first bool) {
	return exactBase(key, x.tree.Base())
}

func (x valuesWindow) Audit(ctx context.Context, s kv.Store, _, _ string) ([]plug.Wrong, error) {
	return auditTree(ctx, s, x.tree)
}

func (x valuesWindow) Amend(ctx context.Context, s kv.Store, _, _ string) error {
	ids, err := membersOf(ctx, s, x.tree)
	if err == nil {
		_, err = x.reader().mend(ctx, ids, 0, x.clear)
	}
	return err
}

func (x valuesWindow) Page(ctx context.Context, s kv.Store, _ string, n int) ([]plug.Row, error) {
	return topOf(ctx, s, x.tree.Tree, n)
}

func (x valuesWindow) Picture(ctx context.Context, s kv.Store, _ string, most int) (plug.Picture, error) {
	return pictureOf(ctx, s, x.tree.Tree, most)
}

var _ plug.Fitter = boardWindow{}

const fittedMembers = 8

// Fit warns about ties that make a tree deep, judging by some members of one board.
func (c boardWindow) Fit(ctx context.Context, s kv.Store, some []plug.Standing) ([]string, error) {
	if c.text != nil || c.code != c.code.WithTies() || len(some) == 0 {
		return nil, nil
	}
	at, err := parsePlace(some[0].Place)
	if err != nil {
		return nil, c.failure(err)
	}
	var ids []string
	for _, other := range some {
		if p, err := parsePlace(other.Place); err == nil && p.by == at.by && len(ids) < fittedMembers {
			ids = append(ids, other.ID)
		}
	}
	p, err := c.now(at.by).Picture(ctx, s, 1, ids)
	if err != nil || p.Root == nil {
		return nil, c.failure(err)
	}
	way := 0
	for _, leaf := range p.Leaves {
		way = max(way, 1+(len(leaf)-len(p.Root.Name))/2) // A level takes two characters.
	}
	if way < longWay {
		return nil, nil
	}
	return []string{fmt.Sprintf("paths have %d nodes, because records with one score were created close together; ties=shared and a build shorten them", way)}, nil
}
