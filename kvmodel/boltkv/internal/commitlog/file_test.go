package commitlog

import (
	"bytes"
	"io"
	"math/rand/v2"
)

// memory is a file of which a cut of the power takes what was not synced, in parts.
type memory struct {
	Data   []byte
	synced []byte
}

func (f *memory) ReadAt(p []byte, at int64) (int, error) {
	if n := copy(p, f.Data[min(at, int64(len(f.Data))):]); n < len(p) {
		return n, io.EOF
	}
	return len(p), nil
}

func (f *memory) WriteAt(p []byte, at int64) (int, error) {
	f.Data = over(f.Data, p, int(at))
	return len(p), nil
}

func over(data, p []byte, at int) []byte {
	if missing := at + len(p) - len(data); missing > 0 {
		data = append(data, make([]byte, missing)...)
	}
	copy(data[at:], p)
	return data
}

func (f *memory) Sync() error {
	f.synced = bytes.Clone(f.Data)
	return nil
}

func (f *memory) Size() (int64, error) { return int64(len(f.Data)), nil }

func (f *memory) Close() error { return nil }

const sector = 512

// cut returns what a power cut may leave: of each sector either what was synced, or what it
// holds.
func (f *memory) cut(random *rand.Rand) *memory {
	left := bytes.Clone(f.synced)
	all := random.IntN(4) == 0 // The system had written everything by chance.
	for at := 0; at < len(f.Data); at += sector {
		if all || random.IntN(2) == 0 {
			left = over(left, f.Data[at:min(at+sector, len(f.Data))], at)
		}
	}
	return &memory{Data: left, synced: bytes.Clone(left)}
}
