package kvmodel_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// An oldProcess is a process of the release of 22 November 2026, the last one before the
// enumeration had heads and each index was built by itself. It writes notes as that
// release did, item by item, and is not to be changed:
//
//   - It claims built:Note once, before its first write: an index that it does not know
//     goes, and so does everything else that is not the name and definition of one.
//   - Then it opens its journal. The head has one hash of all indexes of a model.
//   - Once a second it ticks and adds the next segment. If no change is under way, it
//     puts new ids into the enumeration: into its last chunk, or into a new one of ids
//     alone. After five seconds with nothing to do it stops ticking.
//   - It looks at none of these again.
type oldProcess struct {
	t     *testing.T
	s     kv.Store
	texts bool // it keeps the unique index ByText

	mu       sync.Mutex
	process  string
	tick     uint64
	segment  int64
	written  bool     // there are lines in the segment
	open     int      // changes under way
	ended    []int64  // segments with lines, oldest first
	created  []string // ids in segments
	idle     int      // ticks with nothing to do
	ticking  bool
	claimed  bool
	finished bool
}

const oldChunk = 4 << 10 // the size from which a chunk is followed by a new one

func newOldProcess(t *testing.T, s kv.Store, texts bool) *oldProcess {
	return &oldProcess{t: t, s: s, texts: texts}
}

// keeps returns the definitions of its indexes.
func (e *oldProcess) keeps() []string {
	if e.texts {
		return []string{"ByText="}
	}
	return nil
}

// shape is what the head of its journal says of its notes.
func (e *oldProcess) shape() string {
	h := sha256.New()
	if e.texts {
		fmt.Fprintf(h, "%q %q\n", "ByText", "")
	}
	return "Note=" + hex.EncodeToString(h.Sum(nil)[:6])
}

func (e *oldProcess) do(ops ...kv.Op) []kv.Result {
	e.t.Helper()
	if err := e.s.Do(context.Background(), ops); err != nil {
		e.t.Fatalf("old process: %v", err)
	}
	results := make([]kv.Result, len(ops))
	for i := range ops {
		results[i] = ops[i].Result
	}
	return results
}

// mustDo carries out op, which must succeed.
func (e *oldProcess) mustDo(op kv.Op) {
	e.t.Helper()
	if r := e.do(op)[0]; r.Err != nil {
		e.t.Fatalf("old process: %s: %v", op.Key, r.Err)
	}
}

// claim takes what it does not know out of the built item.
func (e *oldProcess) claim() {
	if e.claimed {
		return
	}
	e.claimed = true
	got := e.do(kv.OpGet("built:Note"))[0]
	keep := e.keeps()
	if got.Err == nil {
		there, err := wire.ReadTexts(got.Value, "index")
		if err != nil {
			e.t.Fatalf("old process: built:Note: %v", err)
		}
		keep = slices.DeleteFunc(slices.Clone(there), func(def string) bool { return !slices.Contains(e.keeps(), def) })
		if len(keep) == len(there) {
			return
		}
	}
	e.mustDo(kv.OpReplace("built:Note", got.Version, wire.AppendTexts(nil, keep)))
}

func (e *oldProcess) line(n int64) string { return fmt.Sprintf("line:%s:%d", e.process, n) }

func (e *oldProcess) head() []byte {
	lowest := e.segment
	if len(e.ended) > 0 {
		lowest = e.ended[0]
	}
	b := binary.AppendUvarint(nil, uint64(lowest))
	b = binary.AppendUvarint(b, uint64(e.segment))
	b = binary.AppendUvarint(b, e.tick)
	b = binary.AppendUvarint(b, 1)
	return wire.AppendText(b, e.shape())
}

// openJournal opens a journal under a new name.
func (e *oldProcess) openJournal() {
	e.process, e.segment, e.tick, e.written = kv.RandomName(), 0, 0, false
	e.do(kv.OpAdd(e.line(0), nil), kv.OpSet("out:"+e.process, e.head()))
	procs := e.do(kv.OpGet("procs"))[0]
	e.mustDo(kv.OpReplace("procs", procs.Version, append(slices.Clone(procs.Value), e.process+"\n"...)))
}

// note appends a line. If its journal was removed, it goes on under another name.
func (e *oldProcess) note(line []byte) {
	if e.process == "" {
		e.openJournal()
	}
	if e.do(kv.OpAppend(e.line(e.segment), line))[0].Err != nil {
		e.openJournal()
		e.mustDo(kv.OpAppend(e.line(e.segment), line))
	}
	e.written = true
	if !e.ticking {
		e.ticking, e.idle = true, 0
		go e.ticks()
	}
}

func (e *oldProcess) ticks() {
	for {
		time.Sleep(time.Second)
		e.mu.Lock()
		if e.ticking = e.ticking && !e.finished && e.tickOnce(); !e.ticking {
			e.mu.Unlock()
			return
		}
		e.mu.Unlock()
	}
}

// tickOnce reports whether it ticks again.
func (e *oldProcess) tickOnce() bool {
	got := e.do(kv.OpGet("out:" + e.process))[0]
	if got.Err != nil {
		e.process = "" // It was taken for dead.
		return false
	}
	e.tick++
	if e.written {
		e.ended = append(e.ended, e.segment)
		e.segment, e.written = e.segment+1, false
		e.mustDo(kv.OpAdd(e.line(e.segment), nil))
	}
	e.mustDo(kv.OpSwap("out:"+e.process, got.Version, e.head()))
	if e.idle++; e.open > 0 || len(e.ended) > 0 {
		e.idle = 0
	}
	if e.open == 0 {
		e.removeEnded()
	}
	return e.idle < 5
}

func (e *oldProcess) removeEnded() {
	e.archive(e.created)
	for _, n := range e.ended {
		e.mustDo(kv.OpDelete(e.line(n)))
	}
	e.created, e.ended = nil, nil
}

// archive puts ids into the enumeration.
func (e *oldProcess) archive(ids []string) {
	if len(ids) == 0 {
		return
	}
	data := wire.AppendTexts(nil, ids)
	key := func(n int) string { return fmt.Sprint("all:Note:", n) }
	last, size := 0, 0
	for {
		got := e.do(kv.OpGet(key(last + 1)))[0]
		if got.Err != nil {
			break
		}
		last, size = last+1, len(got.Value)
	}
	if last > 0 && size+len(data) <= oldChunk {
		e.mustDo(kv.OpAppend(key(last), data))
		return
	}
	e.mustDo(kv.OpAdd(key(last+1), data))
}

// body returns the envelope of n.
func (e *oldProcess) body(n *note, rev uint64, tries []envelope.Try) []byte {
	b, err := json.Marshal(n)
	must(e.t, err)
	env := envelope.Envelope{Model: 1, Rev: rev, Tries: append(tries, envelope.Try{Rev: rev, Nonce: kv.Random()}), Body: b}
	return env.Encode(nil)
}

func (e *oldProcess) places(n *note) []envelope.Touched {
	if !e.texts {
		return nil
	}
	return []envelope.Touched{{Index: "ByText", Places: []string{n.Text}}}
}

// create makes a record: its line and its claim, then itself.
func (e *oldProcess) create(n *note) {
	e.t.Helper()
	e.begin(n)
	e.commit(n)
}

// begin writes down that n is made.
func (e *oldProcess) begin(n *note) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claim()
	rev := uint64(time.Now().UnixMilli())
	body := wire.AppendText(nil, "Note")
	body = wire.AppendText(body, n.ID)
	body = binary.AppendUvarint(body, rev)
	body = envelope.AppendTouched(append(body, 1), e.places(n))
	e.note(append(binary.AppendUvarint(nil, uint64(len(body))), body...))
	e.open, e.created = e.open+1, append(e.created, n.ID)
	if e.texts {
		e.mustDo(kv.OpAdd("u:Note:ByText:"+n.Text, append(binary.AppendUvarint(nil, 0), n.ID...)))
	}
}

// commit stores the new record n.
func (e *oldProcess) commit(n *note) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	n.Version = time.Now().UnixMilli()
	e.mustDo(kv.OpAdd("r:Note:"+n.ID, e.body(n, uint64(n.Version), nil)))
	e.open--
}

// recode changes the code of a record. It has no index of that, so it writes no line.
func (e *oldProcess) recode(id, code string) {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.claim()
	got := e.do(kv.OpGet("r:Note:" + id))[0]
	env, err := envelope.Decode(got.Value)
	must(e.t, err)
	n := new(note)
	must(e.t, json.Unmarshal(env.Body, n))
	n.Code = code
	e.mustDo(kv.OpSwap("r:Note:"+id, got.Version, e.body(n, env.Rev+1, env.Tries[max(0, len(env.Tries)-3):])))
}

// kill ends it where it is.
func (e *oldProcess) kill() {
	e.mu.Lock()
	e.finished = true
	e.mu.Unlock()
	time.Sleep(2 * time.Second) // It sees that with its next tick.
}

// close ends it as it should: its ids are in the enumeration, and its journal goes.
func (e *oldProcess) close() {
	e.t.Helper()
	e.kill()
	if e.process == "" {
		return
	}
	e.ended = append(e.ended, e.segment)
	e.removeEnded()
	procs := e.do(kv.OpGet("procs"))[0]
	left := strings.ReplaceAll(string(procs.Value), e.process+"\n", "")
	e.mustDo(kv.OpSwap("procs", procs.Version, []byte(left)))
	e.do(kv.OpDelete("out:"+e.process), kv.OpDelete("fixed:"+e.process))
}
