// Package commitlog is an append-only file of commits. A store appends each of its
// commits to a log before it puts it where it belongs, and after a crash reads back what
// it had not yet put there.
//
// A log has a header and records. Each record carries a sum of its bytes, a number one
// higher than the last, and the sum of the record before it, so that nothing that an
// earlier use of the file has left behind is taken for one of them.
package commitlog

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
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

// Header says where a log belongs.
type Header struct {
	Store [16]byte // identifies the store
	Epoch uint64   // one higher than that of the log before
	First uint64   // the number of its first record
}

// The header is a block of its own, so that no write of a record touches its sector.
const (
	magic      = "ringtree log v1\n"
	headerSize = 64
	blockSize  = 4096
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
	var buf [headerSize]byte
	copy(buf[:], magic)
	copy(buf[16:], h.Store[:])
	binary.BigEndian.PutUint64(buf[32:], h.Epoch)
	binary.BigEndian.PutUint64(buf[40:], h.First)
	_, _ = rand.Read(buf[48:60])
	binary.BigEndian.PutUint32(buf[60:], crc32.Checksum(buf[:60], castagnoli))
	if _, err := file.WriteAt(buf[:], 0); err != nil {
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
	switch {
	case n < headerSize || buf == [headerSize]byte{}:
		return nil, ErrEmpty
	case string(buf[:len(magic)]) != magic:
		return nil, fmt.Errorf("%w: it does not begin as a log does", ErrDamaged)
	case binary.BigEndian.Uint32(buf[60:]) != crc32.Checksum(buf[:60], castagnoli):
		return nil, fmt.Errorf("%w: the sum of its header does not fit", ErrDamaged)
	}
	l := &Log{file: file, at: blockSize, size: size}
	copy(l.Store[:], buf[16:])
	l.Epoch = binary.BigEndian.Uint64(buf[32:])
	l.First = binary.BigEndian.Uint64(buf[40:])
	l.salt = binary.BigEndian.Uint32(buf[60:])
	l.next, l.link = l.First, l.salt
	return l, nil
}

// Next returns the number of the next record.
func (l *Log) Next() uint64 { return l.next }

// Bytes returns how many bytes the log's records take, with the header.
func (l *Log) Bytes() int64 { return l.at }

// Sync returns when all that was appended is on the disk. After an error no one knows
// what is.
func (l *Log) Sync() error { return l.file.Sync() }

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
	l.next++
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
