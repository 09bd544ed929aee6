package enumeration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
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
	ids    []string

	bare    bool // it is of a release whose chunks have ids alone
	version kv.Version
}

// withNonce is the first byte of a chunk that does not begin with its first id, as
// those of older releases do: no id is empty.
const withNonce = 0

// header returns what c begins with, before its ids.
func (c chunk) header() []byte {
	b := []byte{withNonce}
	b = binary.BigEndian.AppendUint64(b, c.nonce)
	b = binary.BigEndian.AppendUint64(b, c.before)
	b = binary.AppendUvarint(b, uint64(max(0, c.made.UnixMilli())))
	return binary.AppendUvarint(b, uint64(c.next))
}

// readChunk returns the chunk that a get answered; one without a version is absent.
func readChunk(got kv.Result) (c chunk, err error) {
	if errors.Is(got.Err, kv.ErrNotFound) {
		return c, nil
	}
	if got.Err != nil {
		return c, got.Err
	}
	r := wire.Reader{Rest: got.Value}
	if c.bare = len(r.Rest) == 0 || r.Rest[0] != withNonce; !c.bare {
		r.Byte()
		c.nonce, c.before = r.Uint64(), r.Uint64()
		c.made = time.UnixMilli(int64(r.Number("time", 1<<62)))
		c.next = int64(r.Number("next chunk", maxChunks))
	}
	for len(r.Rest) > 0 {
		c.ids = append(c.ids, r.Text("id"))
	}
	c.version = got.Version
	return c, r.Err
}

func (c chunk) exists() bool { return c.version != 0 }

// follows reports whether c is the chunk that was added after before.
func (c chunk) follows(before chunk) bool { return c.bare || c.before == before.nonce }

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
		if chunks[i], err = readChunk(r); err != nil {
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
