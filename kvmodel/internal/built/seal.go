package built

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
)

// The seal of an item is one of its texts. It stands before the indexes, and says how many
// texts the item has and the sum of the others.
const saysSeal = "~~ "

// sealed returns the item that texts make.
func sealed(texts []string) []byte {
	at := sealAt(texts)
	seal := fmt.Sprintf("%s%dx%d", saysSeal, len(texts)+1, int64(wire.Sum(wire.AppendTexts(nil, texts)))+1)
	return wire.AppendTexts(nil, slices.Insert(slices.Clone(texts), at, seal))
}

// sealAt returns where the seal of texts stands: after the birth and the edition.
func sealAt(texts []string) int {
	if len(texts) > 1 && strings.HasPrefix(texts[1], saysEdition) {
		return 2
	}
	return min(1, len(texts))
}

// isSealed reports whether data is an item as sealed has made it.
func isSealed(data []byte) bool {
	texts, err := wire.ReadTexts(data, "index")
	return err == nil && bytes.Equal(sealed(unsealed(texts)), data)
}

// unsealed returns texts without a seal.
func unsealed(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.HasPrefix(text, saysSeal) })
}

// unseal returns the texts of an item, as they were if one bit has changed since it was
// sealed.
func unseal(data []byte) ([]string, error) {
	mended, ok := wire.Mend(data, isSealed)
	if !ok {
		return nil, fmt.Errorf("%w: the sum is of other texts", codec.ErrCorrupt)
	}
	texts, err := wire.ReadTexts(mended, "index")
	return unsealed(texts), err
}
