package commitlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Replay calls f for each record of a newly opened log, which then continues after the last one. It
// reports whether that is an End, and how many records it dropped after one torn by a crash. If a
// record known to be on disk is damaged, it returns an ErrDamaged.
func (l *Log) Replay(f func(Record) error) (ended bool, dropped int, err error) {
	data := make([]byte, l.size)
	if n, err := l.file.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		return false, 0, err
	} else if data = data[:n]; n < blockSize {
		return false, 0, nil
	}
	for {
		r, sum, size, ok := decode(l.rest(data), l.salt)
		if !ok || r.Seq != l.next || r.link != l.link {
			break
		}
		if ended {
			return false, 0, fmt.Errorf("%w: record %d follows the end", ErrDamaged, r.Seq)
		}
		if ended = r.End; !ended {
			if err := f(r); err != nil {
				return false, 0, fmt.Errorf("record %d at byte %d: %w", r.Seq, l.at, err)
			}
			l.next++
		}
		l.link = sum
		l.at += size
	}
	dropped, durable := l.behind(l.rest(data))
	if durable >= l.next {
		return false, 0, fmt.Errorf("%w: record %d at byte %d is damaged, and %d after it are intact", ErrDamaged, l.next, l.at, dropped)
	}
	return ended, dropped, l.clear(l.rest(data))
}

func (l *Log) rest(data []byte) []byte { return data[min(l.at, int64(len(data))):] }

// behind returns the number of whole records of this log in tail, and the last one that they say is
// on disk.
func (l *Log) behind(tail []byte) (n int, durable uint64) {
	for at := 8; at+recordSize <= len(tail); at += 8 {
		// Most of tail is not records, and the number is the fastest check.
		if seq := binary.BigEndian.Uint64(tail[at+8:]); seq <= l.next || seq-l.next > uint64(len(tail)) {
			continue
		}
		if r, _, _, ok := decode(tail[at:], l.salt); ok {
			n, durable = n+1, max(durable, r.Durable)
		}
	}
	return n, durable
}

// clear makes sure that nothing in tail is later taken for a record.
func (l *Log) clear(tail []byte) error {
	changed := false
	for at := 0; at < len(tail); at += ahead {
		some := tail[at:min(at+ahead, len(tail))]
		if isZero(some) {
			continue
		}
		changed = true
		if _, err := l.file.WriteAt(make([]byte, len(some)), l.at+int64(at)); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	return l.file.Sync()
}

func isZero(data []byte) bool { return len(bytes.TrimLeft(data, "\x00")) == 0 }
