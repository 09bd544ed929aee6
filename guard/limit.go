package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Limit struct {
	What  string // part of the key, such as "sign-in-of"
	Times int64
	Per   time.Duration
}

type Try struct {
	Limit Limit
	Who   string // the subject of the limit: an address, a name, a user id
}

// TooManyError means that there were too many tries. Wait is the time until the next one.
type TooManyError struct{ Wait time.Duration }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("too many tries; wait %s", e.Wait.Round(time.Second))
}

// Is reports whether target is a *TooManyError, with any Wait.
func (e *TooManyError) Is(target error) bool {
	_, ok := target.(*TooManyError)
	return ok
}

// The last limit is for an attacker with very many addresses. It also blocks the user with that
// name, so it is far above the attempts possible from one address.
var (
	signInsAt   = Limit{"sign-in-at", 50, 15 * time.Minute}
	signInsAtOf = Limit{"sign-in-at-of", 20, 15 * time.Minute}
	signInsOf   = Limit{"sign-in-of", 1000, 15 * time.Minute}
)

// AllowSignIn counts a password attempt, and returns a *TooManyError after 50 from one address in
// 15 minutes, 20 of them for one name, and 1,000 for one name from everywhere. Two trips.
func AllowSignIn(ctx context.Context, store kv.Store, now time.Time, name, address string) error {
	// An address never contains a space.
	err := Allow(ctx, store, now, Try{signInsAt, address}, Try{signInsAtOf, address + " " + name})
	if err == nil {
		err = Allow(ctx, store, now, Try{signInsOf, name})
	}
	return err
}

var limitKey = kv.NewClass("limit", 3) // what, who, number of the time window

// Allow counts tries, and returns a *TooManyError if one exceeds its limit, which holds for all
// processes together. Time is divided into windows, so up to twice as many tries fit around the
// boundary of two. One trip; three for the first try in a window.
func Allow(ctx context.Context, store kv.Store, now time.Time, tries ...Try) error {
	ctx, cancel := kv.Patient(ctx, kv.PowersOf(store).Patience)
	defer cancel()
	return cmp.Or(kv.Each(ctx, store, tries, func(store kv.Store, _ int, try Try) error { return try.count(ctx, store, now) })...)
}

func (t Try) count(ctx context.Context, store kv.Store, now time.Time) error {
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

// countUp adds 1 to the number under key. A new number expires after ttl.
func countUp(ctx context.Context, store kv.Store, key string, ttl time.Duration) (int64, error) {
	result, err := kv.One(ctx, store, kv.OpIncrement(key, 1))
	if !errors.Is(err, kv.ErrNotFound) {
		return result.Number, err
	}
	_, err = kv.One(ctx, store, kv.OpAdd(key, []byte("1")).For(ttl))
	if !errors.Is(err, kv.ErrExists) {
		return 1, err
	}
	result, err = kv.One(ctx, store, kv.OpIncrement(key, 1))
	return result.Number, err
}
