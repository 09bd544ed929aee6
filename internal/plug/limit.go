package plug

import (
	"fmt"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxID is the maximum length of the text of an id, in bytes.
const MaxID = 2048

// TooLong returns the error for a text longer than most bytes. what is "an id" or the like. It
// gives the length before escaping, too, since an app knows only that.
func TooLong(what, text string, most int) error {
	size := fmt.Sprintf("%d bytes", len(text))
	if escaped := strings.Count(text, "%"); escaped > 0 {
		size = fmt.Sprintf("%d bytes, which are %d when escaped", len(text)-2*escaped, len(text))
	}
	return fmt.Errorf("%w: %s of %s, at most %d", kv.ErrTooLarge, what, size, most)
}
