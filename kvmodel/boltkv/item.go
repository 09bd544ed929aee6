package boltkv

import (
	"encoding/binary"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// item is what a key holds. In the file it is 8 bytes of version, 8 bytes of
// expiry and the value; numbers are big-endian.
type item struct {
	value   []byte
	version kv.Version
	expires int64 // nanoseconds since 1970; 0 means never
}

const itemHeader = 16

func (it *item) encode() []byte {
	buf := make([]byte, 0, itemHeader+len(it.value))
	buf = binary.BigEndian.AppendUint64(buf, uint64(it.version))
	buf = binary.BigEndian.AppendUint64(buf, uint64(it.expires))
	return append(buf, it.value...)
}

// decode returns the item in buf. The value shares buf's memory.
func decode(buf []byte) item {
	return item{
		version: kv.Version(binary.BigEndian.Uint64(buf)),
		expires: int64(binary.BigEndian.Uint64(buf[8:])),
		value:   buf[itemHeader:],
	}
}

// expiryKey returns the key under which the index of expiries lists an item:
// 8 bytes of expiry and the item's key.
func expiryKey(expires int64, key []byte) []byte {
	buf := make([]byte, 0, 8+len(key))
	buf = binary.BigEndian.AppendUint64(buf, uint64(expires))
	return append(buf, key...)
}

func splitExpiryKey(buf []byte) (expires int64, key []byte) {
	return int64(binary.BigEndian.Uint64(buf)), buf[8:]
}
