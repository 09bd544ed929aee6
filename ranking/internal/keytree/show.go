package keytree

import (
	"fmt"
	"strconv"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const ExactUpTo = smallTree

// Stray returns the ids of entries with readable records that do not confirm them.
func (r *Report) Stray() (ids []string) {
	for _, d := range r.doubtful {
		if d.Again == nil {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (t *Tree) Base() string { return t.name }

const shownAtMost = 100

// Members returns the members of a leaf.
func Members(value []byte) []string {
	if nd, _ := decodeNode(kv.Result{Value: value}); nd.leaf != nil {
		return idsOf(nd.leaf.entries)
	}
	return nil
}

func Show(key string, value []byte) ([]string, error) {
	lines, err := show(value)
	if err != nil {
		return nil, wire.Corrupt(key, err)
	}
	return lines, nil
}

func show(value []byte) ([]string, error) {
	kind, _, err := unseal(value)
	if err != nil {
		return nil, err
	}
	got := kv.Result{Value: value}
	switch kind {
	case metaKind:
		m, err := decodeMeta(got)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("definition of a tree: epoch %d, %d entries to a leaf, a part lost: %t", m.epoch, m.limit, m.lost)}, nil
	case recordKind:
		st, err := decodeState(got)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("record of a member: in %t, score %d, version %d", st.In, st.Score.Int(), st.Ver)}, nil
	case edgeKind:
		return []string{"where the ends of a tree were last seen"}, nil
	case leaseKind:
		return []string{"the right to rebuild a tree"}, nil
	case sealKind:
		return []string{"the root of a tree that has lost a node"}, nil
	}
	switch nd, _ := decodeNode(got); {
	case nd.router != nil:
		return nd.router.show(), nil
	case nd.leaf != nil:
		return nd.leaf.show(), nil
	}
	return nil, fmt.Errorf("%w: node of a ranking", kvmodel.ErrCorrupt)
}

func (s Score) show() string {
	if s.word != "" {
		return fmt.Sprintf("%x", s.word)
	}
	return strconv.FormatInt(s.Int(), 10)
}

func (r *router) show() []string {
	lines := []string{fmt.Sprintf("router over %d members", r.members())}
	for i, s := range r.slots {
		lines = append(lines, fmt.Sprintf("below at %d: %d members, closed %t", i, s.members, s.closed))
	}
	return lines
}

func (l *leaf) show() []string {
	lines := []string{fmt.Sprintf("leaf of %d entries", len(l.entries))}
	for i, e := range l.entries {
		if i == shownAtMost {
			return append(lines, fmt.Sprintf("and %d more", len(l.entries)-i))
		}
		pending := ""
		if e.pending {
			pending = ", pending"
		}
		lines = append(lines, fmt.Sprintf("%s at %s, version %d%s", e.id, e.score.show(), e.ver, pending))
	}
	return lines
}
