package rediskv

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An item in Redis is a format byte, which begins no text, a version of 64 random bits, and the
// value.
const (
	format  = 0xF5
	headLen = 9
)

func head(v kv.Version) []byte {
	return binary.BigEndian.AppendUint64([]byte{format}, uint64(v))
}

func newText(value []byte) string {
	v := rand.Uint64()
	for v == 0 {
		v = rand.Uint64()
	}
	var b strings.Builder
	b.Grow(headLen + len(value))
	b.Write(head(kv.Version(v)))
	b.Write(value)
	return b.String()
}

func parseItem(text []byte) (kv.Result, error) {
	if len(text) < headLen || text[0] != format {
		return kv.Result{}, errForeign
	}
	version := kv.Version(binary.BigEndian.Uint64(text[1:headLen]))
	return kv.Result{Value: text[headLen:], Version: version}, nil
}
