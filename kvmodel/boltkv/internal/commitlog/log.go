// Package commitlog is an append-only file of commits. A store appends each of its
// commits to a log before it puts it where it belongs, and after a crash reads back what
// it had not yet put there.
//
// A log has a header and records. Each record carries a sum of its bytes, a number one
// higher than the last, and the sum of the record before it, so that nothing that an
// earlier use of the file has left behind is taken for one of them.
package commitlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// File is what a log is kept in.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Sync returns when all that was written is on the disk.
	Sync() error

	// Size returns how many bytes the file has.
	Size() (int64, error)
}

var (
	// ErrDamaged: the log is not one, or bytes of it are not what was written.
	ErrDamaged = errors.New("damaged log")

	// ErrEmpty: the file holds no log. A crash has ended its beginning, at most.
	ErrEmpty = errors.New("no log")

	// ErrStuck: a record was not written, but may be there all the same.
	ErrStuck = errors.New("a record may or may not have been written")
)

// Log is a log that is appended to. It is for one goroutine at a time, but Sync may run
// beside everything else.
type Log struct {
	Header
	file File
	salt uint32 // what the sums of this use of the file begin with

	next uint64 // the number of the next record
	link uint32 // the sum of the last
	at   int64  // where the next begins
	size int64  // of the file; behind at there are zeros, or what an earlier use has left
	buf  []byte
}

// Create begins a log in file, over whatever is there, and syncs it.
func Create(file File, h Header) (*Log, error) {
	if _, err := file.WriteAt(h.encode(magic), 0); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return Open(file)
}

// Open returns the log in file, as if it had no records. Replay finds those it has.
func Open(file File) (*Log, error) {
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	var buf [headerSize]byte
	n, err := file.ReadAt(buf[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if n < headerSize || buf == [headerSize]byte{} {
		return nil, ErrEmpty
	}
	h, salt, err := decodeHeader(buf[:], magic)
	if err != nil {
		return nil, err
	}
	return &Log{Header: h, file: file, at: blockSize, size: size, salt: salt, next: h.First, link: salt}, nil
}

// Next returns the number of the next commit.
func (l *Log) Next() uint64 { return l.next }

// Bytes returns how many bytes the log's records take, with the header.
func (l *Log) Bytes() int64 { return l.at }

// Sync returns when all that was appended is on the disk. After an error no one knows
// what is.
func (l *Log) Sync() error { return l.file.Sync() }

// Empty makes the file one that holds no log, and syncs it.
func (l *Log) Empty() error {
	if _, err := l.file.WriteAt(make([]byte, headerSize), 0); err != nil {
		return err
	}
	return l.file.Sync()
}

// Close closes the file.
func (l *Log) Close() error { return l.file.Close() }

// ahead is what the file grows by. A sync of bytes that the file has already is quicker
// than that of a file that has grown.
const ahead = 64 << 10

// keptRoom is how much room for a record is kept for the next.
const keptRoom = 1 << 20

// Append writes r and gives it its number. If it returns an error other than ErrStuck, r
// was not written and never will be.
func (l *Log) Append(r *Record) error {
	if err := r.fits(); err != nil {
		return err
	}
	r.Seq, r.link = l.next, l.link
	l.buf = r.encode(l.buf[:0], l.salt)
	length, sum := int64(len(l.buf)), binary.BigEndian.Uint32(l.buf)
	grown := max(l.size, l.at+length)
	if l.at+length > l.size {
		grown = (l.at + length + ahead - 1) / ahead * ahead
		l.buf = append(l.buf, make([]byte, grown-l.at-length)...)
	}
	if _, err := l.file.WriteAt(l.buf, l.at); err != nil {
		// A sum of zeros fits nothing.
		if _, again := l.file.WriteAt(make([]byte, 8), l.at); again != nil && l.isThere(l.buf[:length]) {
			return fmt.Errorf("%w: %w; taking it back: %w", ErrStuck, err, again)
		}
		return err
	}
	l.at, l.size, l.link = l.at+length, grown, sum
	if !r.End {
		l.next++
	}
	if cap(l.buf) > keptRoom {
		l.buf = nil
	}
	return nil
}

// isThere reports whether the file may hold all of record.
func (l *Log) isThere(record []byte) bool {
	read := make([]byte, len(record))
	n, err := l.file.ReadAt(read, l.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	return n == len(record) && string(read) == string(record)
}
