package enumeration

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var chunkKey = kv.NewClass("all", 2) // model, number of the chunk

const maxChunks = 1 << 48

// chunk is one key of ids. Its nonce is in the head, or in the chunk after it, so
// that no other chunk is taken for it.
type chunk struct {
	nonce  uint64
	before uint64    // the nonce of the chunk before it
	made   time.Time // by the clock of the process that has added it
	next   int64     // in the first chunk: where the enumeration begins, if not there
	texts  []string  // what stands behind that: ids, and sums of them
	ids    []string

	damaged error // an ErrCorrupt: what could be read may be anything
	version kv.Version
}

// withNonce is the first byte of a chunk.
const withNonce = 0

// header returns what c begins with, before its ids.
func (c chunk) header() []byte {
	b := []byte{withNonce}
	b = binary.BigEndian.AppendUint64(b, c.nonce)
	b = binary.BigEndian.AppendUint64(b, c.before)
	b = binary.AppendUvarint(b, uint64(max(0, c.made.UnixMilli())))
	return binary.AppendUvarint(b, uint64(c.next))
}

// holding returns the value of c with other ids.
func (c chunk) holding(ids []string) []byte {
	data := wire.AppendText(c.header(), c.headerSum())
	if len(ids) == 0 {
		return data
	}
	return append(data, grouped(ids)...)
}

// encode returns the value of c. Each text stays where it is, since builds remember how
// many there are before the next one to be entered.
func (c chunk) encode() []byte {
	texts := slices.Clone(c.texts)
	for i, text := range texts {
		if n, _, ok := summed(text); ok {
			texts[i] = c.sum(texts[i+1 : min(i+1+n, len(texts))])
		}
	}
	return wire.AppendTexts(c.header(), texts)
}

// readChunk returns the chunk that a get answered; one without a version is absent.
func readChunk(key string, got kv.Result) (c chunk, err error) {
	if errors.Is(got.Err, kv.ErrNotFound) {
		return c, nil
	}
	if got.Err != nil {
		return c, got.Err
	}
	c, err = decodeChunk(got.Value)
	c.damaged, c.version = wire.Corrupt(key, err), got.Version
	return c, nil
}

// decodeChunk returns the chunk in data, and with an ErrCorrupt what of it can be read.
func decodeChunk(data []byte) (c chunk, err error) {
	r := wire.Reader{Rest: data}
	first := r.Byte()
	c.nonce, c.before = r.Uint64(), r.Uint64()
	c.made = time.UnixMilli(int64(r.Number("time", 1<<62)))
	c.next = int64(r.Number("next chunk", maxChunks))
	if err = r.Err; err == nil && first != withNonce {
		err = fmt.Errorf("%w: its first byte is %d", codec.ErrCorrupt, first)
	}
	for {
		rest := r.Rest
		for len(r.Rest) > 0 {
			if text := r.Text("id"); r.Err == nil {
				c.texts, rest = append(c.texts, text), r.Rest
			}
		}
		if err = cmp.Or(err, r.Err); r.Err == nil {
			break
		}
		// The next sum is where texts begin again.
		at := bytes.Index(rest[min(2, len(rest)):], []byte(sumMark))
		if at < 0 {
			break
		}
		r = wire.Reader{Rest: rest[at+1:]}
	}
	c.ids = slices.DeleteFunc(slices.Clone(c.texts), func(text string) bool { return !isID(text) })
	return c, cmp.Or(err, c.check())
}

// check returns an ErrCorrupt if a sum of c is of other ids, or one stands under none.
func (c chunk) check() error {
	for rest := c.texts; len(rest) > 0; {
		n, sum, ok := summed(rest[0])
		switch {
		case !ok:
			return fmt.Errorf("%w: an id has no sum", codec.ErrCorrupt)
		case 1+n > len(rest):
			return fmt.Errorf("%w: ids are missing", codec.ErrCorrupt)
		}
		if _, now, _ := summed(c.sum(rest[1 : 1+n])); now != sum {
			return fmt.Errorf("%w: the sum is of other ids", codec.ErrCorrupt)
		}
		rest = rest[1+n:]
	}
	return nil
}

// sum returns the sum of ids, or of the header if there are none.
func (c chunk) sum(ids []string) string {
	if len(ids) == 0 {
		return c.headerSum()
	}
	return sumText(len(ids), wire.AppendTexts(nil, ids))
}

func (c chunk) headerSum() string { return sumText(0, c.header()) }

func (c chunk) exists() bool { return c.version != 0 }

// follows reports whether c is the chunk that was added after before.
func (c chunk) follows(before chunk) bool { return c.before == before.nonce }

func (e *Enumeration) key(n int64) string {
	return chunkKey.Key(e.model, strconv.FormatInt(n, 10))
}

// FirstKey returns the key of the first chunk, which is never removed.
func (e *Enumeration) FirstKey() string { return e.key(1) }

// read returns chunks from first on, in one trip.
func (e *Enumeration) read(ctx context.Context, s kv.Store, first int64, n int) ([]chunk, error) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = e.key(first + int64(i))
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	chunks := make([]chunk, n)
	for i, r := range results {
		if chunks[i], err = readChunk(keys[i], r); err != nil {
			return nil, fmt.Errorf("%s: %w", keys[i], err)
		}
	}
	return chunks, nil
}

// readOne returns chunk n.
func (e *Enumeration) readOne(ctx context.Context, s kv.Store, n int64) (chunk, error) {
	all, err := e.read(ctx, s, n, 1)
	if err != nil {
		return chunk{}, err
	}
	return all[0], nil
}
