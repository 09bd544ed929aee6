package enumeration

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var headKey = kv.NewClass("ids", 1) // model

// Head is what the head of an enumeration says. The zero Head is of none.
type Head struct {
	Birth string // a random text that the model's built item has, too
	Born  bool   // the model may be written

	low, high int64   // the chunks there are; none if high is below low
	moves     int64   // how often ids have moved to another chunk
	nonce     uint64  // of chunk high
	lost      []int64 // chunks whose loss was accepted

	// Damaged is an ErrCorrupt if the head cannot be read. Then it counts as born, and
	// nothing else is known.
	Damaged error

	version kv.Version
}

const (
	unborn = "unborn"
	born   = "born"
)

// Exists reports whether the head was found.
func (h Head) Exists() bool { return h.version != 0 }

func (h Head) encode() []byte {
	state := unborn
	if h.Born {
		state = born
	}
	b := wire.AppendTexts(nil, []string{h.Birth, state})
	for _, n := range []int64{h.low, h.high, h.moves} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = binary.BigEndian.AppendUint64(b, h.nonce)
	b = binary.AppendUvarint(b, uint64(len(h.lost)))
	for _, n := range h.lost {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return frame.Whole(b)
}

// ReadHead returns what a get of the head answered.
func (e *Enumeration) ReadHead(got kv.Result) (h Head, err error) {
	if errors.Is(got.Err, kv.ErrNotFound) {
		return Head{}, nil
	}
	if got.Err != nil {
		return Head{}, got.Err
	}
	if h, err = decodeHead(got.Value); err != nil {
		h = Head{Born: true, Damaged: wire.Corrupt(e.HeadKey(), err)}
	}
	h.version = got.Version
	return h, nil
}

func decodeHead(data []byte) (h Head, err error) {
	data, damaged := frame.Open(data)
	r := wire.Reader{Rest: data}
	h.Birth = r.Name("birth")
	switch r.Name("state") {
	case unborn:
	case born:
		h.Born = true
	default:
		r.Fail("state")
	}
	h.low = int64(r.Number("first chunk", maxChunks))
	h.high = int64(r.Number("last chunk", maxChunks))
	h.moves = int64(r.Number("moves", 1<<62))
	h.nonce = r.Uint64()
	for range r.Count("lost chunks", 1) {
		h.lost = append(h.lost, int64(r.Number("lost chunk", maxChunks)))
	}
	if h.low < 1 || h.high < h.low-1 {
		r.Fail("chunks")
	}
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	return h, cmp.Or(damaged, r.Err)
}

// isLost reports whether the loss of chunk n was accepted.
func (h Head) isLost(n int64) bool { return slices.Contains(h.lost, n) }

// HeadKey returns the key of the head.
func (e *Enumeration) HeadKey() string { return headKey.Key(e.model) }

// look returns the head as it is.
func (e *Enumeration) look(ctx context.Context, s kv.Store) (Head, error) {
	got, err := kv.One(ctx, s, kv.OpGet(e.HeadKey()))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return Head{}, err
	}
	return e.ReadHead(got)
}

// mustLook returns the head of an enumeration that has one, which is not damaged.
func (e *Enumeration) mustLook(ctx context.Context, s kv.Store) (Head, error) {
	h, err := e.look(ctx, s)
	if err == nil && !h.Exists() {
		err = e.headLost()
	}
	return h, cmp.Or(err, h.Damaged)
}

func (e *Enumeration) headLost() error {
	return fmt.Errorf("%w: the head of the enumeration of %s is gone", kv.ErrLost, e.model)
}

// swap puts to in the place of the head was.
func (e *Enumeration) swap(ctx context.Context, s kv.Store, was, to Head) error {
	_, err := kv.One(ctx, s, kv.OpSwap(e.HeadKey(), was.version, to.encode()))
	return err
}

// Begin adds the head of a model that is not born yet.
func (e *Enumeration) Begin(ctx context.Context, s kv.Store, birth string) error {
	_, err := kv.One(ctx, s, kv.OpAdd(e.HeadKey(), Head{Birth: birth, low: 1}.encode()))
	return err
}

// Bear lets the model be written.
func (e *Enumeration) Bear(ctx context.Context, s kv.Store, h Head) error {
	to := h
	to.Born = true
	return e.swap(ctx, s, h, to)
}

// Remake makes a head that is damaged again, over the chunks that are there. Ids may have
// moved since it was read last, so it says that they have.
func (e *Enumeration) Remake(ctx context.Context, s kv.Store, damaged Head, birth string) error {
	to, err := e.Found(ctx, s)
	if err == nil {
		to.lost, _, err = e.gone(ctx, s, to)
	}
	if err != nil {
		return err
	}
	to.Birth, to.Born, to.moves = birth, true, max(0, e.now().UnixMilli())
	return e.swap(ctx, s, damaged, to)
}
