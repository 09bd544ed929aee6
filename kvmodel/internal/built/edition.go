package built

import (
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Edition is an edition of the store. The loss of a server's memory that was accepted
// ends one: what was known in it means nothing in the next.
type Edition struct{ number, id uint64 }

// Edition returns the edition of the store, as this process knows it.
func (b *Item) Edition() (e Edition) {
	e.number, e.id = kv.EditionOf(b.losses)
	return e
}

// text is how the item names the edition: "" is the first.
func (e Edition) text() string {
	if e.number <= 1 {
		return ""
	}
	return fmt.Sprintf("%s%d.%x", saysEdition, e.number, e.id)
}
