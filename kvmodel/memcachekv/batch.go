package memcachekv

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The answers to that many writes fit into the buffers of a connection, so unread answers never
// keep a server from reading. Gets are sent last.
const (
	maxWrites = 500
	maxBytes  = 64 << 10 // or one larger write
)

const largest = 1 << 30

var (
	// errTurn: the set found its key absent, or present, and needs the other command.
	errTurn = errors.New("not settled")

	// errPast: the increment went past kv.MaxNumber.
	errPast = errors.New("past the largest number")

	errOutOfStep = errors.New("the answer does not match the request")
)

// batch sends writes and gets, and then reads the answers, which come in the same order. It
// overwrites the slice writes.
func (l *link) batch(writes, gets []*kv.Op) {
	writes = slices.DeleteFunc(writes, l.alone)
	for set := "replace"; len(writes)+len(gets) > 0; set = otherSet(set) {
		l.pass(set, writes, gets)
		writes, gets = slices.DeleteFunc(writes, l.settled), nil
	}
}

func otherSet(set string) string {
	if set == "replace" {
		return "add"
	}
	return "replace"
}

// alone carries out an op that takes several commands, or returns false.
func (l *link) alone(op *kv.Op) bool {
	if op.Kind != kv.Append || !looksPadded(op.Value) || l.conn == nil {
		return false
	}
	op.Result = l.do(op)
	return true
}

func (l *link) settled(op *kv.Op) bool {
	switch op.Result.Err {
	case errTurn:
		return false
	case errPast:
		op.Result = l.takeBack(op)
	}
	return true
}

func (l *link) pass(set string, writes, gets []*kv.Op) {
	for {
		n := l.compose(set, writes)
		if n == len(writes) {
			l.exchange(writes, gets)
			return
		}
		l.exchange(writes[:n], nil)
		writes = writes[n:]
	}
}

func (l *link) compose(set string, writes []*kv.Op) (n int) {
	l.out, l.ends = l.out[:0], l.ends[:0]
	for n < min(len(writes), maxWrites) && len(l.out) < maxBytes {
		l.out = l.command(l.out, set, writes[n])
		l.ends = append(l.ends, len(l.out))
		n++
	}
	return n
}

// exchange sends the composed writes, and gets, and reads the answers. If the connection fails, it
// closes it and refuses the rest.
func (l *link) exchange(writes, gets []*kv.Op) {
	if l.conn == nil {
		l.server.refuse(l.ctx, writes, errStuck)
		l.server.refuse(l.ctx, gets, errStuck)
		return
	}
	for _, op := range gets {
		op.Result = kv.Result{}
	}
	answered := 0
	written, err := l.send(gets)
	if err == nil {
		answered, err = l.receive(writes, gets)
	}
	if err == nil {
		return
	}
	l.noteBreak(err)
	l.close()
	for i, op := range writes {
		if i >= answered {
			op.Result.Err = l.unanswered(kv.Set, l.ends[i] <= written, err)
		}
	}
	for _, op := range gets {
		if op.Result.Value == nil {
			op.Result.Err = l.unanswered(kv.Get, true, err)
		}
	}
}

func (l *link) send(gets []*kv.Op) (written int, err error) {
	out := l.out
	if len(gets) > 0 {
		out = append(out, "gets"...)
		for _, op := range gets {
			out = append(append(out, ' '), op.Key...)
		}
		out = append(out, "\r\n"...)
	}
	l.out = out[:0]
	if cap(out) > maxBytes {
		l.out = nil
	}
	if err := l.conn.extend(); err != nil {
		return 0, err
	}
	return l.conn.Write(out)
}

// receive returns the number of answered writes. After an error the connection is unusable.
func (l *link) receive(writes, gets []*kv.Op) (answered int, err error) {
	in := l.conn.reader()
	for ; answered < len(writes); answered++ {
		line, err := readLine(in)
		if err != nil {
			return answered, err
		}
		op := writes[answered]
		answer, err := parse(line)
		if err != nil {
			return answered, err
		}
		op.Result = l.result(op, line, answer)
		if rejected(op, line) {
			return answered + 1, outOfStep(line)
		}
	}
	if len(gets) > 0 {
		err = l.receiveItems(in, gets)
	}
	if err == nil && in.Buffered() > 0 {
		err = errOutOfStep
	}
	return answered, err
}

// The line is valid until the next read.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}

// parse returns the answer in line, as the library's error. err means that line answers no write.
func parse(line []byte) (answer, err error) {
	switch string(line) {
	case "STORED", "DELETED":
		return nil, nil
	case "NOT_STORED":
		return memcache.ErrNotStored, nil
	case "EXISTS":
		return memcache.ErrCASConflict, nil
	case "NOT_FOUND":
		return memcache.ErrCacheMiss, nil
	}
	switch {
	case len(line) > 0 && isDigits(line):
		return nil, nil
	case bytes.HasPrefix(line, serverError) || bytes.HasPrefix(line, clientError):
		return errors.New(string(line)), nil
	}
	return nil, outOfStep(line)
}

var (
	serverError = []byte("SERVER_ERROR")
	clientError = []byte("CLIENT_ERROR")
)

func outOfStep(line []byte) error { return fmt.Errorf("%w: %.80q", errOutOfStep, line) }

// rejected reports whether the server did not understand op: then it may read the value as further
// commands.
func rejected(op *kv.Op, line []byte) bool {
	return bytes.HasPrefix(line, clientError) && op.Kind != kv.Increment && op.Kind != kv.Delete
}

func (l *link) result(op *kv.Op, line []byte, answer error) kv.Result {
	switch {
	case op.Kind == kv.Set && answer == memcache.ErrNotStored:
		return kv.Result{Err: errTurn}
	case op.Kind != kv.Increment || answer != nil:
		return kv.Result{Err: l.answer(op.Kind, answer)}
	}
	number, err := strconv.ParseUint(string(line), 10, 64)
	if err != nil || number > kv.MaxNumber {
		return kv.Result{Err: errPast}
	}
	return kv.Result{Number: int64(number)}
}

func (l *link) receiveItems(in *bufio.Reader, gets []*kv.Op) error {
	for next := gets; ; next = next[1:] {
		line, err := readLine(in)
		if err != nil {
			return err
		}
		if string(line) == "END" {
			break
		}
		h, ok := parseHeader(line)
		for ok && len(next) > 0 && next[0].Key != string(h.key) {
			next = next[1:]
		}
		if !ok || len(next) == 0 {
			return outOfStep(line)
		}
		value := make([]byte, h.size+len("\r\n"))
		if _, err := io.ReadFull(in, value); err != nil {
			return err
		}
		next[0].Result = kv.Result{Value: decode(value[:h.size:h.size], h.flags), Version: l.version(h.casID)}
	}
	for _, op := range gets {
		if op.Result.Value == nil {
			op.Result.Err = kv.ErrNotFound
		}
	}
	return nil
}

type header struct {
	key   []byte // valid until the next read
	flags uint32
	size  int
	casID uint64
}

func parseHeader(line []byte) (h header, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte("VALUE "))
	if !ok {
		return h, false
	}
	number := func(bits int) uint64 {
		word, after, _ := bytes.Cut(rest, []byte(" "))
		n, err := strconv.ParseUint(string(word), 10, bits)
		ok, rest = ok && err == nil, after
		return n
	}
	h.key, rest, _ = bytes.Cut(rest, []byte(" "))
	h.flags = uint32(number(32))
	h.size = int(number(32))
	h.casID = number(64)
	return h, ok && h.size <= largest
}

func (l *link) command(out []byte, set string, op *kv.Op) []byte {
	switch op.Kind {
	case kv.Delete:
		return append(append(append(out, "delete "...), op.Key...), "\r\n"...)
	case kv.Increment:
		verb, delta := "incr ", op.Delta
		if delta < 0 {
			verb, delta = "decr ", -delta
		}
		out = append(append(append(out, verb...), op.Key...), ' ')
		return append(strconv.AppendInt(out, delta, 10), "\r\n"...)
	}
	verb, item := set, l.item(op)
	switch op.Kind {
	case kv.Add:
		verb = "add"
	case kv.CompareAndSwap, kv.CompareAndDelete:
		verb = "cas"
	case kv.Append:
		verb = "append"
	}
	out = append(append(append(append(out, verb...), ' '), op.Key...), ' ')
	out = append(strconv.AppendUint(out, uint64(item.Flags), 10), ' ')
	out = append(strconv.AppendInt(out, int64(item.Expiration), 10), ' ')
	out = strconv.AppendInt(out, int64(len(item.Value)), 10)
	if verb == "cas" {
		out = strconv.AppendUint(append(out, ' '), item.CasID, 10)
	}
	out = append(append(out, "\r\n"...), item.Value...)
	return append(out, "\r\n"...)
}

// reader's buffer is empty between requests, so the library can read from the same connection.
func (w *wire) reader() *bufio.Reader {
	if w.in == nil {
		w.in = bufio.NewReaderSize(replies{w}, 16<<10)
	}
	return w.in
}

type replies struct{ *wire }

func (r replies) Read(b []byte) (int, error) {
	if err := r.extend(); err != nil {
		return 0, err
	}
	return r.wire.Read(b)
}

func (w *wire) extend() error {
	return w.SetDeadline(time.Now().Add(w.link.server.opts.Timeout))
}

type flight struct {
	server *server
	gets   []*kv.Op
	writes []*kv.Op
}

func (s *Store) flights(ops []kv.Op) []*flight {
	var all []*flight
	for i := range ops {
		op := &ops[i]
		if op.Result.Err != nil {
			continue
		}
		srv := pick(s.servers, op.Key)
		at := slices.IndexFunc(all, func(f *flight) bool { return f.server == srv })
		if at < 0 {
			at = len(all)
			all = append(all, &flight{server: srv})
		}
		all[at].add(op, len(ops)-i)
	}
	return all
}

func (f *flight) add(op *kv.Op, most int) {
	list := &f.writes
	if op.Kind == kv.Get {
		list = &f.gets
	}
	if *list == nil {
		*list = make([]*kv.Op, 0, most)
	}
	*list = append(*list, op)
}

// fly runs the first flight on the caller's goroutine.
func fly(ctx context.Context, flights []*flight) {
	var wg sync.WaitGroup
	for _, f := range flights[1:] {
		wg.Go(func() { f.run(ctx) })
	}
	flights[0].run(ctx)
	wg.Wait()
}

func (f *flight) run(ctx context.Context) {
	switch {
	case len(f.gets)+len(f.writes) == 1:
		f.server.do(ctx, slices.Concat(f.gets, f.writes)[0])
	case len(f.writes) == 0 && f.server.opts.PipelineWrites:
		f.server.getAll(ctx, f.gets)
	default:
		f.server.batch(ctx, f.writes, f.gets)
	}
}
