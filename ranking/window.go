package ranking

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// The views that package inspect has of boards and of values: see [plug.Window]. A base is the base
// of a tree.

// boardWindow is the view that package inspect has of boards.
type boardWindow struct{ *core }

// Window returns the view for package inspect.
func (c *core) Window() plug.Window { return boardWindow{c} }

// Kind returns "board".
func (c boardWindow) Kind() string { return "board" }

// Parted reports whether each value has a board.
func (c boardWindow) Parted() bool { return c.many }

// Bases returns the trees of a place, in all kept periods.
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

// kept returns a time in each kept period, the current one first.
func (c *core) kept() []time.Time {
	now := c.host.DB().Now()
	times := []time.Time{now}
	for past := 1; c.per != Forever && past < c.keep; past++ {
		times = append(times, c.per.add(now, -past))
	}
	return times
}

// Base finds a tree by its definition.
func (c boardWindow) Base(key string) (base string, first bool) {
	return treeBase(key, c.treeName(), c.many || c.per != Forever, c.code)
}

// treeBase returns the base of key if it belongs to a tree called name or, with more, to a tree
// with that prefix. code is the code of its scores.
func treeBase(key, name string, more bool, code keytree.Code) (base string, first bool) {
	tree := "rank:" + plug.TreeName(name)
	begin := tree + ":"
	if more {
		begin = "rank:" + name + ":"
	}
	if !strings.HasPrefix(key, begin) {
		return "", false
	}
	base, first = strings.CutSuffix(key, ":meta")
	switch {
	case !more:
		return tree, first && base == tree
	case first:
		return base, true
	}
	for at := len(begin); at < len(key); at++ {
		if key[at] == ':' && isTreeEnd(key[at:], code) {
			return key[:at], false
		}
	}
	return "", false
}

// isTreeEnd reports whether rest can follow the name of a tree in a key.
func isTreeEnd(rest string, code keytree.Code) bool {
	epoch, node, ok := strings.Cut(rest[1:], ":key0")
	_, err := strconv.ParseUint(epoch, 10, 64)
	return ok && err == nil && code.IsName(node) ||
		rest == ":edge" || rest == ":lease" || strings.HasPrefix(rest, ":i:")
}

// at returns the board with the given tree base. place is a place on it, or "" if none is known.
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

// Audit reads the tree.
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

// restoreMembers rewrites the missing and damaged records of members that have entries.
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

// strays returns the members with own records but no model record on the board.
func (p part) strays(ctx context.Context, s kv.Store) (strays []string, err error) {
	t := p.tree(p.by, p.when())
	ids, err := membersOf(ctx, s, t)
	for some := range slices.Chunk(ids, membersAtOnce) {
		states, err := t.own.States(ctx, s, some)
		if err != nil {
			return nil, err
		}
		recs, err := p.host.See(ctx, s, some...)
		if recs == nil {
			return nil, err
		}
		for i, rec := range recs {
			if states[i].In && !rec.Damaged() && !stateOf(p.by, rec).In {
				strays = append(strays, rec.ID)
			}
		}
	}
	return strays, err
}

const membersAtOnce = 100

// membersOf returns the members of t that have records of their own, read from the keys. It cannot
// tell members with hashed keys, or any if the store cannot list keys.
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

// auditTree returns the problems of a tree.
func auditTree(ctx context.Context, s kv.Store, t tree) (wrong []plug.Wrong, err error) {
	ids, err := membersOf(ctx, s, t)
	if err != nil {
		return nil, err
	}
	r, err := t.Verify(ctx, s, ids)
	if text, ok := plug.Damage(err, kvmodel.ErrNeedsRebuild); ok {
		return []plug.Wrong{{Kind: plug.DamagedItem, Text: t.Base() + ": " + text}}, nil
	}
	if err != nil {
		return nil, err
	}
	for _, text := range r.Wrong {
		wrong = append(wrong, plug.Wrong{Kind: plug.DamagedItem, Text: t.Base() + ": " + text})
	}
	if r.Lost > 0 {
		wrong = append(wrong, plug.Wrong{Kind: plug.DamagedItem, Text: fmt.Sprintf("%s: %d nodes are missing or damaged", t.Base(), r.Lost)})
	}
	for _, id := range r.Damaged {
		wrong = append(wrong, plug.Wrong{Kind: plug.DamagedItem, ID: id, Text: fmt.Sprintf("%s: %s, the record of a member, is damaged", t.Base(), t.own.Key(id))})
	}
	for _, id := range r.Missing {
		wrong = append(wrong, plug.Wrong{Kind: plug.MissingEntry, ID: id, Text: fmt.Sprintf("%s: %s has no entry", t.Base(), id)})
	}
	for _, id := range r.Stray() {
		wrong = append(wrong, plug.Wrong{Kind: plug.StrayEntry, ID: id, Text: fmt.Sprintf("%s: %s has an entry that its record does not confirm", t.Base(), id)})
	}
	if r.Drift > 0 && r.Members <= keytree.ExactUpTo {
		wrong = append(wrong, plug.Wrong{Kind: plug.WrongCount, Text: fmt.Sprintf("%s: the counts of its nodes are off by %d", t.Base(), r.Drift)})
	}
	return wrong, nil
}

// Amend mends the tree. If the tree lost a node, it is filled from all records.
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

// Page returns the first members of the current board of value, unverified if the scores are
// numbers.
func (c boardWindow) Page(ctx context.Context, s kv.Store, value string, n int) ([]plug.Row, error) {
	p := part{core: c.core, by: value}
	t := p.tree(value, p.when()).Tree
	if c.text != nil {
		return c.texts(ctx, s, t, n)
	}
	return topOf(ctx, s, t, n)
}

// texts returns the first n members of a tree of words, with the texts in their records.
func (c boardWindow) texts(ctx context.Context, s kv.Store, t *keytree.Tree, n int) (rows []plug.Row, err error) {
	l, err := t.Page(ctx, s, keytree.Between{}, false, nil, n, keytree.Want{})
	for _, m := range l.Members {
		if m.Value != nil {
			rows = append(rows, plug.Row{ID: m.ID, Note: strconv.Quote(c.text(m.Value))})
		}
	}
	return rows, err
}

// Picture draws the top of the current tree of value.
func (c boardWindow) Picture(ctx context.Context, s kv.Store, value string, most int) (plug.Picture, error) {
	p := part{core: c.core, by: value}
	return pictureOf(ctx, s, p.tree(value, p.when()).Tree, most)
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

// topOf returns the n highest members of a tree.
func topOf(ctx context.Context, s kv.Store, t *keytree.Tree, n int) (rows []plug.Row, err error) {
	l, err := t.Page(ctx, s, keytree.Between{}, true, nil, n, keytree.Want{Unverified: true})
	for _, m := range l.Members {
		rows = append(rows, plug.Row{ID: m.ID, Note: "score " + scoreText(t.Code, m.Score)})
	}
	return rows, err
}

// scoreText returns the score as the code stores it.
func scoreText(code keytree.Code, s keytree.Score) string {
	switch code {
	case keytree.Float, keytree.Float.WithTies():
		return strconv.FormatFloat(s.Float(), 'g', -1, 64)
	case keytree.Unsigned, keytree.Unsigned.WithTies():
		return strconv.FormatUint(s.Uint(), 10)
	}
	return strconv.FormatInt(s.Int(), 10)
}

// Said returns the members that a node names.
func (c boardWindow) Said(_ string, value []byte) (texts []string, bodies [][]byte) {
	return keytree.Members(value), nil
}

// Show says what a node holds.
func (c boardWindow) Show(key string, value []byte) ([]string, error) {
	return keytree.Show(key, value)
}

// Ends returns the time when the counts of a period expire: now, if the period was dropped.
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

// valuesWindow is the view that package inspect has of values.
type valuesWindow struct{ *valuesIndex }

// Window returns the view for package inspect.
func (x *valuesIndex) Window() plug.Window { return valuesWindow{x} }

// Kind returns "values".
func (x valuesWindow) Kind() string { return "values" }

// Bases returns the tree of the values.
func (x valuesWindow) Bases(string) []string { return []string{x.tree.Base()} }

// Base finds the tree by its definition.
func (x valuesWindow) Base(key string) (base string, first bool) {
	return exactBase(key, x.tree.Tree)
}

func exactBase(key string, t *keytree.Tree) (base string, first bool) {
	if !strings.HasPrefix(key, t.Base()+":") {
		return "", false
	}
	return t.Base(), key == t.MetaKey()
}

// Audit reads the tree.
func (x valuesWindow) Audit(ctx context.Context, s kv.Store, _, _ string) ([]plug.Wrong, error) {
	return auditTree(ctx, s, x.tree)
}

// Amend mends the tree.
func (x valuesWindow) Amend(ctx context.Context, s kv.Store, _, _ string) error {
	ids, err := membersOf(ctx, s, x.tree)
	if err == nil {
		_, err = x.reader().mend(ctx, ids, 0, x.clear)
	}
	return err
}

// Page returns the most frequent values.
func (x valuesWindow) Page(ctx context.Context, s kv.Store, _ string, n int) ([]plug.Row, error) {
	return topOf(ctx, s, x.tree.Tree, n)
}

// Picture draws the tree of the values.
func (x valuesWindow) Picture(ctx context.Context, s kv.Store, _ string, most int) (plug.Picture, error) {
	return pictureOf(ctx, s, x.tree.Tree, most)
}

// Show says what a node holds.
// Said returns the values that a node names.
func (x valuesWindow) Said(_ string, value []byte) (texts []string, bodies [][]byte) {
	return keytree.Members(value), nil
}

func (x valuesWindow) Show(key string, value []byte) ([]string, error) {
	return keytree.Show(key, value)
}
