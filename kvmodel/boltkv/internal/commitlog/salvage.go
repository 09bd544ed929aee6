package commitlog

import (
	"errors"
	"io"
)

// Records calls f for each whole record of a log that was just opened, in order, whatever
// stands between them. It returns how many are missing among them.
func (l *Log) Records(f func(Record) error) (missing uint64, err error) {
	data := make([]byte, l.size)
	n, err := l.file.ReadAt(data, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	next := l.First
	for at := blockSize; at+recordSize <= n; {
		r, _, size, ok := decode(data[at:n], l.salt)
		if !ok || r.Seq < next {
			at += 8
			continue
		}
		missing += r.Seq - next
		next = r.Seq + 1
		if err := f(r); err != nil {
			return missing, err
		}
		at += int(size)
	}
	return missing, nil
}
