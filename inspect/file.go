package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
)

// An export is a sequence of blocks: the kind, one byte; the length of the data, four bytes,
// big-endian; the data; and the CRC-32C of all that. The first block is the header and the last the
// end, both JSON; the others contain items, compressed by deflate.
const (
	magic        = "ringtree export\n"
	exportFormat = 1

	headerBlock = 'H'
	itemsBlock  = 'I'
	endBlock    = 'E'

	blockBytes = 256 << 10 // of items, before compression
	mostBytes  = 64 << 20  // of a block, before and after compression
)

// ErrBadExport means that a file is not a whole export.
var ErrBadExport = errors.New("not a complete export")

// Header is the first block of an export.
type Header struct {
	Format int            `json:"format"`
	Made   time.Time      `json:"made"`
	Models map[string]int `json:"models"` // with their versions
}

// Summary is the last block of an export, and the result of an import or a comparison.
type Summary struct {
	Records map[string]int64 `json:"records"` // by model
	Others  int64            `json:"others"`  // items that belong to no record
	Sum     string           `json:"sum"`     // of all items, in any order
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type exportWriter struct {
	to    io.Writer
	items []byte
}

type tally struct {
	records map[string]int64
	others  int64
	sum     [sha256.Size]byte // of the sums of all items, byte by byte
	hash    hash.Hash
}

func newTally() tally { return tally{records: make(map[string]int64), hash: sha256.New()} }

func (t *tally) add(it *item) {
	switch it.kind {
	case record:
		t.records[it.model]++
	case kept:
		t.others++
	}
	t.hash.Reset()
	t.hash.Write(it.encode(nil))
	for i, b := range t.hash.Sum(nil) {
		t.sum[i] += b
	}
}

func (t *tally) summary() Summary {
	return Summary{Records: t.records, Others: t.others, Sum: fmt.Sprintf("%x", t.sum[:8])}
}

func (it *item) encode(dst []byte) []byte {
	dst = append(dst, byte(it.kind))
	for _, text := range []string{it.model, it.id, it.name, it.key} {
		dst = wire.AppendText(dst, text)
	}
	dst = binary.AppendVarint(dst, it.ends)
	return wire.AppendText(dst, it.value)
}

func decodeItem(r *wire.Reader) (it item) {
	it.kind = kind(r.Byte())
	for _, text := range []*string{&it.model, &it.id, &it.name, &it.key} {
		*text = r.Text("text")
	}
	ends, n := binary.Varint(r.Rest)
	if n <= 0 && r.Err == nil {
		r.Fail("end")
		return it
	}
	it.ends, r.Rest = ends, r.Rest[max(n, 0):]
	it.value = r.Bytes("value")
	return it
}

func newExportWriter(to io.Writer, h Header) (*exportWriter, error) {
	w := &exportWriter{to: to}
	if _, err := io.WriteString(to, magic); err != nil {
		return nil, err
	}
	data, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return w, w.block(headerBlock, data)
}

func (w *exportWriter) block(kind byte, data []byte) error {
	if len(data) > mostBytes {
		return fmt.Errorf("a block of an export would have %d bytes, at most %d", len(data), mostBytes)
	}
	b := binary.BigEndian.AppendUint32([]byte{kind}, uint32(len(data)))
	b = append(b, data...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := w.to.Write(b)
	return err
}

func (w *exportWriter) put(items []item) error {
	for i := range items {
		w.items = items[i].encode(w.items)
		if len(w.items) >= blockBytes {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *exportWriter) flush() error {
	if len(w.items) == 0 {
		return nil
	}
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return err
	}
	_, err = z.Write(w.items)
	if err = cmp.Or(err, z.Close()); err != nil {
		return err
	}
	w.items = w.items[:0]
	return w.block(itemsBlock, b.Bytes())
}

func (w *exportWriter) end(sum Summary) error {
	data, err := json.Marshal(sum)
	if err = cmp.Or(err, w.flush()); err != nil {
		return err
	}
	return w.block(endBlock, data)
}

type exportReader struct {
	from   *bufio.Reader
	at     int64 // position in the file
	header Header
}

func newExportReader(from io.Reader) (*exportReader, error) {
	r := &exportReader{from: bufio.NewReader(from), at: int64(len(magic))}
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(r.from, begin); err != nil && !isCutOff(err) {
		return nil, err
	}
	if string(begin) != magic {
		return nil, fmt.Errorf("%w: it does not begin as an export does", ErrBadExport)
	}
	kind, data, err := r.block()
	if err != nil {
		return nil, err
	}
	if kind != headerBlock {
		return nil, fmt.Errorf("%w: its first block is not a header", ErrBadExport)
	}
	if err := json.Unmarshal(data, &r.header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrBadExport, err)
	}
	if r.header.Format > exportFormat {
		return nil, fmt.Errorf("%w: it has format %d, and this release knows up to %d", kvmodel.ErrInvalid, r.header.Format, exportFormat)
	}
	return r, nil
}

func isCutOff(err error) bool { return err == io.EOF || err == io.ErrUnexpectedEOF }

func (r *exportReader) read(n uint32, in string) ([]byte, error) {
	data := make([]byte, n)
	_, err := io.ReadFull(r.from, data)
	if isCutOff(err) {
		err = fmt.Errorf("%w: it is cut off %sat byte %d", ErrBadExport, in, r.at)
	}
	return data, err
}

func (r *exportReader) block() (kind byte, data []byte, err error) {
	head, err := r.read(5, "")
	if err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > mostBytes {
		return 0, nil, fmt.Errorf("%w: damaged at byte %d: a block of %d bytes", ErrBadExport, r.at, n)
	}
	rest, err := r.read(n+4, "in the block ")
	if err != nil {
		return 0, nil, err
	}
	sum := crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, rest[:n])
	if sum != binary.BigEndian.Uint32(rest[n:]) {
		return 0, nil, fmt.Errorf("%w: damaged in the block at byte %d: its checksum does not match", ErrBadExport, r.at)
	}
	r.at += int64(len(head)) + int64(len(rest))
	return head[0], rest[:n], nil
}

func (r *exportReader) each(f func([]item) error) (Summary, error) {
	t := newTally()
	for {
		at := r.at
		kind, data, err := r.block()
		if err != nil {
			return t.summary(), err
		}
		if kind == endBlock {
			return r.ended(data, &t)
		}
		items, err := decodeItems(data)
		if err != nil {
			return t.summary(), fmt.Errorf("%w: the block at byte %d: %w", ErrBadExport, at, err)
		}
		for i := range items {
			t.add(&items[i])
		}
		if err := f(items); err != nil {
			return t.summary(), err
		}
	}
}

func decodeItems(data []byte) (items []item, err error) {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(data)), mostBytes))
	if err != nil {
		return nil, err
	}
	for rest := (wire.Reader{Rest: plain}); len(rest.Rest) > 0; {
		it := decodeItem(&rest)
		if rest.Err != nil {
			return nil, rest.Err
		}
		items = append(items, it)
	}
	return items, nil
}

func (r *exportReader) ended(data []byte, t *tally) (Summary, error) {
	var end Summary
	if err := json.Unmarshal(data, &end); err != nil {
		return end, fmt.Errorf("%w: its end: %w", ErrBadExport, err)
	}
	if got := t.summary(); got.Sum != end.Sum {
		return end, fmt.Errorf("%w: the checksum of its items is %s, but %s is recorded", ErrBadExport, got.Sum, end.Sum)
	}
	if _, err := r.from.ReadByte(); err == nil {
		return end, fmt.Errorf("%w: there is data after its end, at byte %d", ErrBadExport, r.at)
	}
	return end, nil
}
