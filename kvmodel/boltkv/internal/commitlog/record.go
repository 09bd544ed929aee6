package commitlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

type Record struct {
	Seq     uint64 // in an End of a log, the number of the next commit
	Time    int64  // nanoseconds since 1970; never decreases
	Version uint64
	Durable uint64 // known to be on disk when this one was written
	End     bool   // not a commit: the log continues in the next one, or the stream is complete
	Items   bool   // not a commit: items of a stream, as of somewhat earlier
	Body    []byte

	link uint32
}

// A record is its checksum, its length, and the checksummed rest, padded to a multiple of 8 bytes.
// Numbers are big-endian.
const (
	recordSize = 48 // without the body
	maxRecord  = 1 << 30

	MaxBody = maxRecord - recordSize
)

func (r *Record) fits() error {
	if len(r.Body) > MaxBody {
		return fmt.Errorf("a record of %d bytes, at most %d", len(r.Body), MaxBody)
	}
	return nil
}

const (
	isEnd   = 1
	isItems = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *Record) encode(buf []byte, salt uint32) []byte {
	begin := len(buf)
	buf = append(buf, make([]byte, recordSize)...)
	buf = append(buf, r.Body...)
	h := buf[begin:]
	binary.BigEndian.PutUint32(h[4:], uint32(len(h)))
	binary.BigEndian.PutUint64(h[8:], r.Seq)
	binary.BigEndian.PutUint32(h[16:], r.link)
	switch {
	case r.End:
		h[20] = isEnd
	case r.Items:
		h[20] = isItems
	}
	binary.BigEndian.PutUint64(h[24:], uint64(r.Time))
	binary.BigEndian.PutUint64(h[32:], r.Version)
	binary.BigEndian.PutUint64(h[40:], r.Durable)
	binary.BigEndian.PutUint32(h, crc32.Update(salt, castagnoli, h[4:]))
	return append(buf, make([]byte, padding(len(h)))...)
}

func padding(length int) int { return -length & 7 }

// decode returns ok false if data begins with no record. The body shares data's memory.
func decode(data []byte, salt uint32) (r Record, sum uint32, size int64, ok bool) {
	if len(data) < recordSize {
		return r, 0, 0, false
	}
	length := int(binary.BigEndian.Uint32(data[4:]))
	if length < recordSize || length > maxRecord || length > len(data) {
		return r, 0, 0, false
	}
	sum = binary.BigEndian.Uint32(data)
	if sum != crc32.Update(salt, castagnoli, data[4:length]) {
		return r, 0, 0, false
	}
	return Record{
		Seq:     binary.BigEndian.Uint64(data[8:]),
		link:    binary.BigEndian.Uint32(data[16:]),
		End:     data[20] == isEnd,
		Items:   data[20] == isItems,
		Time:    int64(binary.BigEndian.Uint64(data[24:])),
		Version: binary.BigEndian.Uint64(data[32:]),
		Durable: binary.BigEndian.Uint64(data[40:]),
		Body:    data[recordSize:length:length],
	}, sum, int64(length + padding(length)), true
}
