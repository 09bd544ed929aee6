package index

import (
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
)

// direction is that of a page from its cursor's position, which is not on the page, and the
// cursor's first byte.
type direction byte

const (
	onward direction = '>'
	back   direction = '<'
)

func (d direction) opposite() direction {
	if d == back {
		return onward
	}
	return back
}

func (d direction) inOrder(ahead, behind string) (next, prev string) {
	if d == back {
		return behind, ahead
	}
	return ahead, behind
}

func parseCursor(name, cursor string, n int) (d direction, position []byte, err error) {
	if err := plug.CheckPage(name, n); err != nil {
		return onward, nil, err
	}
	if cursor == "" {
		return onward, nil, nil
	}
	b, err := plug.ParseCursor(name, cursor)
	if err != nil {
		return onward, nil, err
	}
	if len(b) == 0 || direction(b[0]) != onward && direction(b[0]) != back {
		return onward, nil, fmt.Errorf("%s: %w", name, kvmodel.ErrBadCursor)
	}
	return direction(b[0]), b[1:], nil
}

func encodeCursor(name string, d direction, position []byte) string {
	return plug.Cursor(name, append([]byte{byte(d)}, position...))
}
