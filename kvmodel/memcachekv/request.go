package memcachekv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (l *link) do(op *kv.Op) kv.Result {
	switch op.Kind {
	case kv.Get:
		return l.get(op.Key)
	case kv.Increment:
		return l.increment(op)
	default:
		return kv.Result{Err: l.answer(op.Kind, l.write(op))}
	}
}

func (l *link) get(key string) kv.Result {
	item, err := l.client.Get(key)
	if err != nil {
		return kv.Result{Err: l.answer(kv.Get, err)}
	}
	return l.found(item)
}

// In getAll, a key without an answer is a failure, never an absence.
func (l *link) getAll(ops []*kv.Op) {
	keys := make([]string, len(ops))
	for i, op := range ops {
		keys[i] = op.Key
	}
	items, err := l.client.GetMulti(keys)
	missing := kv.ErrNotFound
	if err != nil {
		missing = l.answer(kv.Get, err)
	}
	found := 0
	for _, op := range ops {
		if item := items[op.Key]; item != nil {
			op.Result = l.found(item)
			found++
		} else {
			op.Result.Err = missing
		}
	}
	if found > len(items) {
		// The library shares the bytes of equal keys.
		for _, op := range ops {
			op.Result.Value = bytes.Clone(op.Result.Value)
		}
	}
}

func (l *link) found(item *memcache.Item) kv.Result {
	return kv.Result{Value: decode(item.Value, item.Flags), Version: l.version(item.CasID)}
}

// version includes the number of the server's memory: casIDs begin at 1 after each start, and
// versions from before and after must never match.
func (l *link) version(casID uint64) kv.Version { return kv.Version(casID ^ l.number) }

func (l *link) casID(v kv.Version) uint64 { return uint64(v) ^ l.number }

func (l *link) write(op *kv.Op) error {
	switch op.Kind {
	case kv.Set:
		return l.set(l.item(op))
	case kv.Add:
		return l.client.Add(l.item(op))
	case kv.CompareAndSwap, kv.CompareAndDelete:
		return l.client.CompareAndSwap(l.item(op))
	case kv.Delete:
		return l.client.Delete(op.Key)
	default:
		return l.append(op)
	}
}

func (l *link) item(op *kv.Op) *memcache.Item {
	switch op.Kind {
	case kv.Append:
		return &memcache.Item{Key: op.Key, Value: op.Value}
	case kv.CompareAndDelete:
		// An item that has already expired.
		return &memcache.Item{Key: op.Key, Expiration: -1, CasID: l.casID(op.Version)}
	}
	value, flags := encode(op.Value)
	return &memcache.Item{
		Key:        op.Key,
		Value:      value,
		Flags:      flags,
		Expiration: expiry(op.TTL, time.Now()),
		CasID:      l.casID(op.Version),
	}
}

// set avoids memcached's set command, which removes the old value if the server has no room for the
// new one.
func (l *link) set(item *memcache.Item) error {
	for {
		if err := l.client.Replace(item); !errors.Is(err, memcache.ErrNotStored) {
			return err
		}
		if err := l.client.Add(item); !errors.Is(err, memcache.ErrNotStored) {
			return err
		}
	}
}

func (l *link) append(op *kv.Op) error {
	if looksPadded(op.Value) {
		return l.appendBlanks(op)
	}
	return l.client.Append(l.item(op))
}

// appendBlanks appends text that would look like padding after a number. If key holds one, it
// rewrites the value, with a guard.
func (l *link) appendBlanks(op *kv.Op) error {
	for {
		item, err := l.client.Get(op.Key)
		if errors.Is(err, memcache.ErrCacheMiss) {
			return memcache.ErrNotStored
		}
		if err != nil {
			return err
		}
		value := decode(item.Value, item.Flags)
		if item.Flags == guarded || !isDigits(value) {
			return l.client.Append(l.item(op))
		}
		item.Value, item.Flags = encode(append(value, op.Value...))
		err = l.client.CompareAndSwap(item)
		if !errors.Is(err, memcache.ErrCASConflict) && !errors.Is(err, memcache.ErrCacheMiss) {
			return err
		}
	}
}

func (l *link) increment(op *kv.Op) kv.Result {
	number, err := l.addDelta(op.Key, op.Delta)
	if err != nil {
		return kv.Result{Err: l.answer(kv.Increment, err)}
	}
	if number <= kv.MaxNumber {
		return kv.Result{Number: int64(number)}
	}
	return l.takeBack(op)
}

// takeBack undoes an increment past kv.MaxNumber, a limit that the server does not have.
func (l *link) takeBack(op *kv.Op) kv.Result {
	err := errStuck
	if l.conn != nil {
		_, err = l.addDelta(op.Key, -op.Delta)
	}
	if err != nil && !errors.Is(err, memcache.ErrCacheMiss) {
		return kv.Result{Err: l.server.failure(l.ctx, kv.ErrUnclear, err)}
	}
	return kv.Result{Err: fmt.Errorf("%w: the sum is past the largest", kv.ErrNotNumber)}
}

func (l *link) addDelta(key string, delta int64) (uint64, error) {
	if delta < 0 {
		return l.client.Decrement(key, uint64(-delta))
	}
	return l.client.Increment(key, uint64(delta))
}

func (l *link) answer(kind kv.Kind, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, memcache.ErrCacheMiss):
		return kv.ErrNotFound
	case errors.Is(err, memcache.ErrCASConflict):
		return kv.ErrConflict
	case errors.Is(err, memcache.ErrNotStored) && kind == kv.Add:
		return kv.ErrExists
	case errors.Is(err, memcache.ErrNotStored) && kind == kv.Append:
		return kv.ErrNotStored
	case refused(err) && strings.Contains(err.Error(), "non-numeric"):
		return kv.ErrNotNumber
	case refused(err) && strings.Contains(err.Error(), "too large") && kind == kv.Append:
		return kv.ErrNotStored
	case refused(err) && strings.Contains(err.Error(), "too large"):
		return l.server.failure(l.ctx, kv.ErrTooLarge, err)
	}
	return l.failure(kind, err)
}

func (l *link) failure(kind kv.Kind, err error) error {
	l.noteBreak(err)
	return l.unanswered(kind, l.asked && !refused(err), err)
}

// unanswered returns ErrUnclear for a write that the server may have received.
func (l *link) unanswered(kind kv.Kind, asked bool, err error) error {
	if kind.Writes() && asked {
		return l.server.failure(l.ctx, kv.ErrUnclear, err)
	}
	return l.server.failure(l.ctx, kv.ErrUnavailable, err)
}

// noteBreak closes the idle connections if err means that this one has ended: after a restart they
// are all broken.
func (l *link) noteBreak(err error) {
	if broken(err) && l.ctx.Err() == nil {
		l.broken = true
		l.server.hangUp()
	}
}

func broken(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return !timedOut(err) && (network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}

// timedOut reports whether the server did not answer in time, or all connections wait for it.
func timedOut(err error) bool {
	late, ok := errors.AsType[net.Error](err)
	_, never := errors.AsType[*memcache.ConnectTimeoutError](err)
	return ok && late.Timeout() || never || errors.Is(err, errBusy)
}

// refused reports whether err is the server's refusal, which the library only shows in its text.
func refused(err error) bool {
	text := err.Error()
	return errors.Is(err, memcache.ErrNotStored) || strings.Contains(text, "SERVER_ERROR") ||
		strings.Contains(text, "CLIENT_ERROR") || strings.HasPrefix(text, "memcache: client error")
}

const guarded = 1

const blanks = " \t\n\v\f\r\x00"

// encode returns value as the server stores it. A guard precedes a value that memcached would
// increment although it is not a number, such as "9 " or "+5", and the empty value, which an append
// could turn into one.
func encode(value []byte) ([]byte, uint32) {
	if !numeric(value) {
		return value, 0
	}
	if _, err := kv.ParseNumber(value); err == nil {
		return value, 0
	}
	return append([]byte{'v'}, value...), guarded
}

// numeric reports whether memcached would increment value, or could after an append.
func numeric(value []byte) bool {
	rest := bytes.TrimLeft(value, blanks)
	rest = bytes.TrimLeft(rest, "+-")
	rest = rest[digits(rest):]
	return len(rest) == 0 || strings.IndexByte(blanks, rest[0]) >= 0
}

// decode removes the guard, and the blanks after a number that has lost digits by a decrement.
func decode(stored []byte, flags uint32) []byte {
	if flags == guarded && len(stored) > 0 {
		return stored[1:]
	}
	n := digits(stored)
	if n == 0 || n == len(stored) || stored[n] != ' ' {
		return stored
	}
	return slices.Concat(stored[:n], bytes.TrimLeft(stored[n:], " "))
}

// looksPadded reports whether text, appended to digits, would look like padding.
func looksPadded(text []byte) bool {
	n := digits(text)
	return n < len(text) && text[n] == ' '
}

func isDigits(text []byte) bool { return digits(text) == len(text) }

func digits(text []byte) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// longest is the longest duration in seconds: memcached takes a larger number for a date.
const longest = 30 * 24 * 60 * 60

// expiry makes memcached, whose clock ticks once a second, keep an item for at least ttl. 0 means
// forever.
func expiry(ttl time.Duration, now time.Time) int32 {
	if ttl == 0 {
		return 0
	}
	seconds := int64((ttl+time.Second-1)/time.Second) + 1
	if seconds <= longest {
		return int32(seconds)
	}
	date := now.Unix() + seconds
	if date > math.MaxInt32 {
		return 0
	}
	return int32(date)
}
