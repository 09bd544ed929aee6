package ashiato

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Limit says how often something may be done in a span of time.
type Limit struct {
	What  string // part of the key, such as "log-in-of"
	Times int64
	Per   time.Duration
}

// The limits of trying passwords: of anybody at one address, of one handle at one address,
// and of one handle at all addresses. The last is for an attacker with very many addresses.
// Its price is that the member with that handle waits as well, so it is far above what one
// address can use up.
var (
	logInsFrom      = Limit{"log-in-from", 50, 15 * time.Minute}
	logInsFromOf    = Limit{"log-in-from-of", 20, 15 * time.Minute}
	logInsOf        = Limit{"log-in-of", 1000, 15 * time.Minute}
	passwordChanges = Limit{"password", 10, 15 * time.Minute}
)

// Try is one try under a limit.
type Try struct {
	Limit Limit
	Who   string // whom the limit counts: an address, a handle, a member's id
}

var limitKey = kv.NewClass("limit", 3) // what, who, number of the time window

// Allow counts tries, and returns a *TooManyError if one of them exceeds its
// limit. Concurrent tries never exceed it together, in any number of processes.
// One trip; three for the first try in a window.
//
// Time is divided into windows, so twice as many tries fit around the end of one.
func (s *Site) Allow(ctx context.Context, tries ...Try) error {
	now := s.now()
	works := make([]func(kvmodel.Store) error, len(tries))
	for i, try := range tries {
		works[i] = func(store kvmodel.Store) error { return try.count(ctx, store, now) }
	}
	for _, err := range kv.Together(ctx, s.db.Store(), works...) {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t Try) count(ctx context.Context, store kvmodel.Store, now time.Time) error {
	window := now.UnixNano() / int64(t.Limit.Per)
	key := limitKey.Key(t.Limit.What, t.Who, strconv.FormatInt(window, 10))
	n, err := countUp(ctx, store, key, t.Limit.Per)
	if err != nil {
		return err
	}
	if n > t.Limit.Times {
		end := time.Unix(0, (window+1)*int64(t.Limit.Per))
		return &TooManyError{Wait: end.Sub(now)}
	}
	return nil
}

// countUp adds 1 to the number under key and returns the sum. A new number
// expires after ttl.
func countUp(ctx context.Context, store kvmodel.Store, key string, ttl time.Duration) (int64, error) {
	result, err := kv.One(ctx, store, kv.OpIncrement(key, 1))
	if !errors.Is(err, kvmodel.ErrNotFound) {
		return result.Number, err
	}
	_, err = kv.One(ctx, store, kv.OpAdd(key, []byte("1")).For(ttl))
	if !errors.Is(err, kvmodel.ErrExists) {
		return 1, err
	}
	result, err = kv.One(ctx, store, kv.OpIncrement(key, 1))
	return result.Number, err
}
