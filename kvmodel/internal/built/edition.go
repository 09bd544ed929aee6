package built

import (
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Edition is an edition of the store. Accepting the loss of a server's memory ends one: knowledge
// from it is void in the next.
type Edition struct{ number, id uint64 }

// Edition returns the edition of the store known to this process.
func (b *Item) Edition() (e Edition) {
	e.number, e.id = kv.EditionOf(b.losses)
	return e
}

// text returns the name of the edition in the item, "" for the first.
func (e Edition) text() string {
	if e.number <= 1 {
		return ""
	}
	return fmt.Sprintf("%s%d.%x", saysEdition, e.number, e.id)
}
