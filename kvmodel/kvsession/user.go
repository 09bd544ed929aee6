package kvsession

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A user's list is one value: seats in the order of their appends. A session is in it before its
// cookie is sent. The seat of an ended session stays until a request tidies the list.

var listKey = kv.NewClass("sessions", 1)

// A seat is stored as a frame of the id and the seconds since 1970.
type seat struct {
	id    hash
	since time.Time
}

const (
	seatPayload = len(hash{}) + 8
	seatSize    = 1 + 1 + seatPayload + frame.Sum
)

// grace is how long to keep the seat of an absent session, which may be about to be added: longer
// than any request.
const grace = time.Hour

const maxPerUser = 1000

func (p seat) append(b []byte) []byte {
	var payload [seatPayload]byte
	binary.BigEndian.PutUint64(payload[copy(payload[:], p.id[:]):], uint64(p.since.Unix()))
	return frame.Append(b, payload[:])
}

// readSeats returns one seat for each session: with an ErrCorrupt, the readable ones.
func readSeats(data []byte) (seats []seat, err error) {
	seen := map[hash]bool{}
	for rest := data; len(rest) > 0; {
		var payload []byte
		var damaged error
		if payload, rest, damaged = frame.Next(rest); damaged != nil || len(payload) != seatPayload {
			err = fmt.Errorf("kvsession: %w: a list of sessions of %d bytes", codec.ErrCorrupt, len(data))
			continue
		}
		p := seat{hash(payload[:len(hash{})]), time.Unix(int64(binary.BigEndian.Uint64(payload[len(hash{}):])), 0)}
		if !seen[p.id] {
			seen[p.id] = true
			seats = append(seats, p)
		}
	}
	return seats, err
}

// enlist returns the ops that add p to a user's list. One of the first two succeeds, or both, which
// is harmless. The third reads the new length of the list.
func enlist(user string, p seat) []kv.Op {
	key, data := listKey.Key(user), p.append(nil)
	return []kv.Op{kv.OpAppend(key, data), kv.OpAdd(key, data), kv.OpGet(key)}
}

// enlisted checks the results of enlist. It sends the ops again if the list was full, or was
// created or deleted meanwhile.
func (s *Store) enlisted(ctx context.Context, user string, ops []kv.Op) error {
	err := listedBy(ops)
	if errors.Is(err, kv.ErrNotStored) {
		if err := s.tidy(ctx, user); err != nil {
			return err
		}
		_ = s.store.Do(ctx, ops)
		return listedBy(ops)
	}
	if err == nil && len(ops[2].Result.Value) > 2*s.options.PerUser*seatSize {
		_ = s.tidy(ctx, user) // If this fails, a later request tidies it.
	}
	return err
}

// listedBy returns nil if one of the first two ops of enlist certainly succeeded.
func listedBy(ops []kv.Op) error {
	appended, added := ops[0].Err(), ops[1].Err()
	switch {
	case appended == nil || added == nil:
		return nil
	case kv.Failed(added):
		return added
	}
	return appended
}

// Info describes a session in List.
type Info struct {
	ID       string // as in sessions.Session.ID, for Revoke
	Label    string // from Options.Label at SignIn
	SignedIn time.Time
	Used     time.Time // its last use, or up to a tenth of the idle time earlier
}

// List returns the signed-in sessions of user, most recently used first. With a codec.ErrCorrupt,
// it returns the undamaged ones.
func (s *Store) List(ctx context.Context, user string) ([]Info, error) {
	seats, _, damaged := s.seats(ctx, user)
	if len(seats) == 0 {
		return nil, damaged
	}
	results, err := s.sessionsAt(ctx, seats)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for i, result := range results {
		if result.Err != nil {
			continue
		}
		rec, err := decodeRecord(result.Value)
		if err != nil {
			damaged = wire.JoinCorrupt(damaged, wire.Corrupt(sessionKey.Key(seats[i].id.String()), err))
			continue
		}
		if rec.User == user && rec.Next == "" && rec.left(&s.options, now()) > 0 {
			infos = append(infos, Info{seats[i].id.String(), rec.Label, rec.Created, rec.Used})
		}
	}
	slices.SortStableFunc(infos, func(a, b Info) int { return cmp.Or(b.Used.Compare(a.Used), b.SignedIn.Compare(a.SignedIn)) })
	return infos, damaged
}

// Revoke ends the session of user called id, if there is one.
func (s *Store) Revoke(ctx context.Context, user, id string) error {
	h, ok := parseID(id)
	if !ok {
		return nil
	}
	found, err := s.read(ctx, h.String())
	switch {
	case errors.Is(err, ErrEnded):
		return nil
	case err != nil:
		return err
	case found.record.User != user || user == "":
		return nil
	}
	return s.end(ctx, found.id)
}

// RevokeAll ends all signed-in sessions of user except those in keep: "sign out everywhere". It
// also ends a session that is getting a new cookie at the same time, and a SignInIf with an earlier
// Generation. After an error some sessions may remain; call it again.
func (s *Store) RevokeAll(ctx context.Context, user string, keep ...string) error {
	ctx, cancel := s.patient(ctx)
	defer cancel()
	if err := s.nextGeneration(ctx, user); err != nil {
		return err
	}
	for turn := new(turn); ; {
		ended, err := s.revokeListed(ctx, user, keep)
		switch {
		case err == nil && !ended:
			return nil
		case err == nil:
			// A session that it ended may just have been replaced.
			turn.unclear = max(turn.unclear, 1)
		case !turn.again(ctx, err):
			return turn.doubt(err)
		}
	}
}

func (s *Store) revokeListed(ctx context.Context, user string, keep []string) (ended bool, err error) {
	seats, version, damaged := s.seats(ctx, user)
	condemned := slices.DeleteFunc(slices.Clone(seats), func(p seat) bool { return slices.Contains(keep, p.id.String()) })
	gone, err := s.endAll(ctx, condemned)
	if err = cmp.Or(err, damaged); err != nil || len(gone) == 0 {
		return false, err
	}
	// If the list keeps their seats, a later request tidies it.
	_ = s.fold(ctx, user, version, slices.DeleteFunc(seats, func(p seat) bool { return gone[p.id] }))
	return true, nil
}

func (s *Store) endAll(ctx context.Context, seats []seat) (gone map[hash]bool, err error) {
	if len(seats) == 0 {
		return nil, nil
	}
	var ops []kv.Op
	for _, p := range seats {
		ops = append(ops, kv.OpDelete(sessionKey.Key(p.id.String())))
	}
	if err := s.store.Do(ctx, ops); err != nil {
		return nil, fmt.Errorf("kvsession: %w", err)
	}
	gone = map[hash]bool{}
	for i, p := range seats {
		if ops[i].Result.Err == nil {
			gone[p.id] = true
		}
	}
	return gone, nil
}

// tidy removes the seats of ended sessions from a list, and ends the oldest beyond PerUser.
func (s *Store) tidy(ctx context.Context, user string) error {
	seats, version, err := s.seats(ctx, user)
	if err != nil || len(seats) == 0 {
		return err
	}
	results, err := s.sessionsAt(ctx, seats)
	if err != nil {
		return err
	}
	var live, kept []seat
	for i, p := range seats {
		present := results[i].Err == nil
		if present || time.Since(p.since) < grace {
			kept = append(kept, p)
		}
		if rec, err := decodeRecord(results[i].Value); present && (err != nil || rec.Next == "") {
			live = append(live, p)
		}
	}
	oldest := live[:max(0, len(live)-s.options.PerUser)]
	if _, err := s.endAll(ctx, oldest); err != nil {
		return err
	}
	return s.fold(ctx, user, version, slices.DeleteFunc(kept, func(p seat) bool { return slices.Contains(oldest, p) }))
}

func (s *Store) fold(ctx context.Context, user string, version kv.Version, seats []seat) error {
	var data []byte
	for _, p := range seats {
		data = p.append(data)
	}
	op := kv.OpSwap(listKey.Key(user), version, data)
	if len(seats) == 0 {
		op = kv.OpDrop(listKey.Key(user), version)
	}
	_, err := kv.One(ctx, s.store, op)
	return named(err)
}

func (s *Store) seats(ctx context.Context, user string) ([]seat, kv.Version, error) {
	result, err := kv.One(ctx, s.store, kv.OpGet(listKey.Key(user)))
	if errors.Is(err, kv.ErrNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, named(err)
	}
	seats, err := readSeats(result.Value)
	return seats, result.Version, wire.Corrupt(listKey.Key(user), err)
}

func (s *Store) sessionsAt(ctx context.Context, seats []seat) ([]kv.Result, error) {
	var keys []string
	for _, p := range seats {
		keys = append(keys, sessionKey.Key(p.id.String()))
	}
	results, err := kv.GetAll(ctx, s.store, keys...)
	return results, named(err)
}

// ErrRevoked means that RevokeAll was called for the user between Generation and SignInIf, which
// did not sign in.
var ErrRevoked = errors.New("kvsession: all sessions of the user were ended during the sign-in")

// Generation is a generation of a user's sessions. Each RevokeAll begins the next.
type Generation struct {
	user string
	mark []byte // random; nil if no RevokeAll is recent
	read time.Time
}

var generationKey = kv.NewClass("generation", 1)

// Generation returns the current generation of user's sessions, for SignInIf. Read it before the
// data that the user is checked against, such as the hash of the password.
func (s *Store) Generation(ctx context.Context, user string) (Generation, error) {
	g := Generation{user: user, read: time.Now().Round(0)}
	result, err := kv.One(ctx, s.store, kv.OpGet(generationKey.Key(user)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return Generation{}, named(err)
	}
	g.mark = result.Value
	return g, nil
}

func (s *Store) current(ctx context.Context, g Generation) error {
	now, err := s.Generation(ctx, g.user)
	if err != nil {
		return err
	}
	// A mark is kept for longer than this, so a newer one would still be there.
	if !bytes.Equal(now.mark, g.mark) || now.read.Sub(g.read) > grace/2 {
		return ErrRevoked
	}
	return nil
}

func (s *Store) nextGeneration(ctx context.Context, user string) error {
	for turn := new(turn); ; {
		// Each mark is written once, so a late write is never mistaken for an earlier mark.
		_, err := kv.One(ctx, s.store, kv.OpSet(generationKey.Key(user), kv.RandomBytes(16)).For(grace))
		if err == nil || !turn.again(ctx, err) {
			return named(err)
		}
	}
}
