package commitlog

import "io"

type memory struct{ Data []byte }

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

func (f *memory) Sync() error { return nil }

func (f *memory) Size() (int64, error) { return int64(len(f.Data)), nil }

func (f *memory) Close() error { return nil }
