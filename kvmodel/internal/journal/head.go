package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var headKey = kv.NewClass("out", 1) // process

// ErrNone means that there is no segment to write to.
var ErrNone = errors.New("no journal")

// The segments from lowest to highest may exist. shapes also has a Handling for each model with
// handlers.
type head struct {
	lowest, highest int64
	tick            uint64
	shapes          []string
	origin          Origin
}

func Handling(model string) string { return "handles " + model }

func (c *Copy) Handles(model string) bool { return slices.Contains(c.head.shapes, Handling(model)) }

// More than one a second for the time a change may stay incomplete.
const maxSegments = 200_000

// closedTick marks the head of a journal that is being removed.
const closedTick = 1 << 62

func (h head) sign() uint64 {
	if h.tick == closedTick {
		return 0
	}
	return h.tick
}

func (h head) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(h.lowest))
	b = binary.AppendUvarint(b, uint64(h.highest))
	b = binary.AppendUvarint(b, h.tick)
	texts := h.shapes
	if !h.origin.IsZero() {
		texts = append(slices.Clone(texts), h.origin.text())
	}
	b = binary.AppendUvarint(b, uint64(len(texts)))
	return frame.Twice(wire.AppendTexts(b, texts))
}

func readHead(process string, data []byte) (head, error) {
	h, err := decodeHead(data)
	return h, wire.Corrupt(headKey.Key(process), err)
}

func decodeHead(data []byte) (head, error) {
	data, damaged := frame.Either(data)
	if data == nil {
		return head{}, damaged
	}
	r := wire.Reader{Rest: data}
	h := head{
		lowest:  int64(r.Number("lowest segment", 1<<62)),
		highest: int64(r.Number("highest segment", 1<<62)),
		tick:    r.Number("tick", 1<<63),
	}
	h.shapes = make([]string, 0, r.Count("shapes", 2))
	for range cap(h.shapes) {
		text := r.Name("shape")
		if o, ok := readOrigin(text); ok {
			h.origin = o
			continue
		}
		h.shapes = append(h.shapes, text)
	}
	if r.Err == nil && len(r.Rest) > 0 {
		r.Fail("end")
	}
	if n := h.highest - h.lowest; n < 0 || n > maxSegments {
		r.Fail("number of segments")
		h.lowest, h.highest = 0, 0
	}
	return h, r.Err
}

var errGoneBack = errors.New("the store has gone back: its head of the journal is older than before")

// write replaces even a damaged head. last is the last tick. ErrNone: the journal was or is being
// removed, so nobody would find a new segment.
func (h head) write(ctx context.Context, s kv.Store, process string, last uint64) error {
	key := headKey.Key(process)
	r, err := kv.One(ctx, s, kv.OpGet(key))
	if err == nil {
		switch old, damaged := decodeHead(r.Value); {
		case damaged != nil:
		case old.tick == closedTick:
			return ErrNone
		case old.tick < last:
			return errGoneBack
		}
		_, err = kv.One(ctx, s, kv.OpSwap(key, r.Version, h.encode()))
	}
	if kv.Raced(err) {
		return ErrNone
	}
	return err
}

// Origin identifies a process in the head of its journal.
type Origin struct {
	Host    string
	PID     int
	Release string    // of the program; "": unknown
	Since   time.Time // when it opened the database
}

func (o Origin) IsZero() bool { return o == Origin{} }

// Called returns the process in readable form: web-1 pid 4121 (release a3f19c2, since 3 h).
func (o Origin) Called(process string, now time.Time) string {
	if o.IsZero() {
		return process
	}
	release := ""
	if o.Release != "" {
		release = "release " + o.Release + ", "
	}
	return strings.TrimSpace(fmt.Sprintf("%s pid %d (%ssince %s)", o.Host, o.PID, release, age(now.Sub(o.Since))))
}

func age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"d", day}, {"h", time.Hour}, {"min", time.Minute}} {
		if d >= unit.of {
			return fmt.Sprint(int(d/unit.of), " ", unit.name)
		}
	}
	return fmt.Sprint(max(0, int(d/time.Second)), " s")
}

// runs precedes an Origin among the shapes. A model's name has no blank.
const runs = "runs "

func (o Origin) text() string {
	return runs + strings.Join([]string{
		url.QueryEscape(o.Host), strconv.Itoa(o.PID), strconv.FormatInt(o.Since.Unix(), 10), url.QueryEscape(o.Release),
	}, " ")
}

func readOrigin(text string) (o Origin, ok bool) {
	rest, ok := strings.CutPrefix(text, runs)
	parts := strings.Split(rest, " ")
	if !ok || len(parts) != 4 {
		return Origin{}, false
	}
	host, err1 := url.QueryUnescape(parts[0])
	pid, err2 := strconv.Atoi(parts[1])
	since, err3 := strconv.ParseInt(parts[2], 10, 64)
	release, err4 := url.QueryUnescape(parts[3])
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return Origin{}, false
		}
	}
	return Origin{host, pid, release, time.Unix(since, 0).UTC()}, true
}
