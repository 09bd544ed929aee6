package commitlog

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const streamMagic = "ringtree data 1\n"

// Writer writes records to a stream. The last one must be an End.
type Writer struct {
	to         io.Writer
	salt, link uint32
	buf        []byte
}

func NewWriter(to io.Writer, h Header) (*Writer, error) {
	buf := h.encode(streamMagic)
	salt := binary.BigEndian.Uint32(buf[60:])
	_, err := to.Write(buf)
	return &Writer{to: to, salt: salt, link: salt}, err
}

func (w *Writer) Write(r Record) error {
	if err := r.fits(); err != nil {
		return err
	}
	r.link = w.link
	w.buf = r.encode(w.buf[:0], w.salt)
	w.link = binary.BigEndian.Uint32(w.buf)
	_, err := w.to.Write(w.buf)
	return err
}

type Reader struct {
	Header
	from       *bufio.Reader
	salt, link uint32
	at         int64
	ended      bool
}

const readAtOnce = 256 << 10

func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: bufio.NewReaderSize(from, readAtOnce)}
	var buf [headerSize]byte
	if _, err := io.ReadFull(r.from, buf[:]); err != nil {
		return nil, r.failed(err)
	}
	var err error
	r.Header, r.salt, err = decodeHeader(buf[:], streamMagic)
	r.link, r.at = r.salt, headerSize
	return r, err
}

// Mark is a position in a log. With only an Epoch, it is before the first record.
type Mark struct {
	Epoch uint64
	at    int64
	link  uint32
}

// Reader returns a reader of the records of l from from up to byte until. If from is a position in
// another log, it starts at the first record.
func (l *Log) Reader(from Mark, until int64) *Reader {
	if from.Epoch != l.Epoch || from.at == 0 {
		from = Mark{l.Epoch, blockSize, l.salt}
	}
	part := io.NewSectionReader(l.file, from.at, until-from.at)
	return &Reader{Header: l.Header, from: bufio.NewReaderSize(part, readAtOnce), salt: l.salt, link: from.link, at: from.at}
}

func (r *Reader) Mark() Mark { return Mark{r.Epoch, r.at, r.link} }

// Next returns the next record; the caller owns its body. It returns io.EOF at the end, and an
// ErrDamaged for changed bytes.
func (r *Reader) Next() (Record, error) {
	var begin [8]byte
	_, err := io.ReadFull(r.from, begin[:])
	if errors.Is(err, io.EOF) {
		return Record{}, io.EOF
	}
	if err != nil {
		return Record{}, r.failed(err)
	}
	if r.ended {
		return Record{}, r.damaged("it goes on behind its end")
	}
	length := int64(binary.BigEndian.Uint32(begin[4:]))
	if length < recordSize || length > maxRecord {
		return Record{}, r.damaged(fmt.Sprintf("a record of %d bytes", length))
	}
	zeros := padding(int(length))
	length += int64(zeros)
	data, err := r.read(begin[:], length)
	if err != nil {
		return Record{}, r.failed(err)
	}
	record, sum, _, ok := decode(data, r.salt)
	if !ok || record.link != r.link || !isZero(data[length-int64(zeros):]) {
		return Record{}, r.damaged("the record is not what was written")
	}
	r.at, r.link, r.ended = r.at+length, sum, record.End
	return record, nil
}

// Each calls f for each record of a stream, and returns its End, without which the stream is an
// ErrDamaged.
func (r *Reader) Each(f func(Record) error) (end Record, err error) {
	for {
		record, err := r.Next()
		switch {
		case errors.Is(err, io.EOF) && r.ended:
			return end, nil
		case errors.Is(err, io.EOF):
			return end, r.damaged("it is cut off")
		case err != nil:
			return end, err
		case record.End:
			end = record
		default:
			if err := f(record); err != nil {
				return end, err
			}
		}
	}
}

// read returns begin and the next bytes. Even for a wrong length, it takes little more memory than
// there are bytes.
func (r *Reader) read(begin []byte, length int64) ([]byte, error) {
	if length <= readAtOnce {
		data := make([]byte, length)
		_, err := io.ReadFull(r.from, data[copy(data, begin):])
		return data, err
	}
	var data bytes.Buffer
	data.Write(begin)
	_, err := io.CopyN(&data, r.from, length-int64(len(begin)))
	return data.Bytes(), err
}

func (r *Reader) damaged(what string) error {
	return fmt.Errorf("%w: at byte %d: %s", ErrDamaged, r.at, what)
}

func (r *Reader) failed(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.damaged("it is cut off")
	}
	return err
}
