// Package commitlog is an append-only file of commits, replayed after a crash.
//
// Each record has a checksum, a number one higher than the last, and the checksum of the record
// before it. So leftovers of an earlier use of the file are never taken for records.
package commitlog

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
)

type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	Sync() error

	Size() (int64, error)
}

var (
	// ErrDamaged: the file is not a log, or some of its bytes have changed.
	ErrDamaged = errors.New("damaged log")

	// ErrEmpty: the file has no complete header.
	ErrEmpty = errors.New("no log")

	// ErrStuck: a record was not written completely, but may be in the file all the same.
	ErrStuck = errors.New("a record may or may not have been written")
)

// Log is for one goroutine at a time, except Sync.
type Log struct {
	Header
	file File
	salt uint32 // seeds the checksums of this use of the file

	next uint64
	link uint32
	at   int64
	size int64 // of the file; from at on it holds zeros, or leftovers of an earlier use
	buf  []byte
}

// Create begins a log in file, overwriting any content, and syncs it.
func Create(file File, h Header) (*Log, error) {
	if _, err := file.WriteAt(h.encode(magic), 0); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return Open(file)
}

// Open returns the log in file, to be replayed.
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

func (l *Log) Next() uint64 { return l.next }

func (l *Log) Bytes() int64 { return l.at }

// Sync returns when all appended records are on disk. After an error, that is unknown.
func (l *Log) Sync() error { return l.file.Sync() }

func (l *Log) Empty() error {
	if _, err := l.file.WriteAt(make([]byte, headerSize), 0); err != nil {
		return err
	}
	return l.file.Sync()
}

func (l *Log) Close() error { return l.file.Close() }

// ahead is the step by which the file grows: syncing bytes that it already has is faster.
const ahead = 64 << 10

const keptRoom = 4 << 20

// Append writes r and assigns its number. After an error other than ErrStuck, r never was and will
// be written.
func (l *Log) Append(r *Record) error {
	if err := r.fits(); err != nil {
		return err
	}
	r.Seq, r.link = l.next, l.link
	l.buf = r.encode(slices.Grow(l.buf[:0], recordSize+len(r.Body)+8+ahead), l.salt)
	length, sum := int64(len(l.buf)), binary.BigEndian.Uint32(l.buf)
	grown := max(l.size, l.at+length)
	if l.at+length > l.size {
		grown = (l.at + length + ahead - 1) / ahead * ahead
		l.buf = append(l.buf, make([]byte, grown-l.at-length)...)
	}
	if _, err := l.file.WriteAt(l.buf, l.at); err != nil {
		// A checksum of zeros is never valid.
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

func (l *Log) isThere(record []byte) bool {
	read := make([]byte, len(record))
	n, err := l.file.ReadAt(read, l.at)
	if err != nil && !errors.Is(err, io.EOF) {
		return true
	}
	return n == len(record) && string(read) == string(record)
}

type Header struct {
	Store [16]byte
	Epoch uint64
	First uint64
}

// In a file the header has a block of its own, so that no write of a record touches its sector.
const (
	magic      = "ringtree log v1\n"
	headerSize = 64
	blockSize  = 4096
)

// encode adds random bytes and a checksum, which seeds those of the records.
func (h *Header) encode(magic string) []byte {
	buf := make([]byte, headerSize)
	copy(buf, magic)
	copy(buf[16:], h.Store[:])
	binary.BigEndian.PutUint64(buf[32:], h.Epoch)
	binary.BigEndian.PutUint64(buf[40:], h.First)
	_, _ = rand.Read(buf[48:60])
	binary.BigEndian.PutUint32(buf[60:], crc32.Checksum(buf[:60], castagnoli))
	return buf
}

func decodeHeader(buf []byte, magic string) (h Header, sum uint32, err error) {
	sum = binary.BigEndian.Uint32(buf[60:])
	switch {
	case string(buf[:len(magic)]) != magic:
		return h, 0, fmt.Errorf("%w: it does not begin with %q", ErrDamaged, magic)
	case sum != crc32.Checksum(buf[:60], castagnoli):
		return h, 0, fmt.Errorf("%w: the checksum of its header does not match", ErrDamaged)
	}
	copy(h.Store[:], buf[16:])
	h.Epoch = binary.BigEndian.Uint64(buf[32:])
	h.First = binary.BigEndian.Uint64(buf[40:])
	return h, sum, nil
}
