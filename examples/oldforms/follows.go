package oldforms

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Follows holds the followers of topics, in two lists for each topic: names in "+" have followed
// it, and names in "-" have unfollowed it. Both only grow, by appends that need no read and never
// conflict. A user follows if they are in "+" more often than in "-".
//
// Names must not contain a comma, and only followers may unfollow. Between the two writes of
// Compact, former followers reappear for a moment, or for good if the process dies there. An
// index.List numbers its entries instead, so that it can be folded in one write.
type Follows struct{ Store kv.Store }

func (f Follows) Follow(ctx context.Context, topic, user string) error {
	return f.grow(ctx, "+"+topic, user)
}

func (f Follows) Unfollow(ctx context.Context, topic, user string) error {
	return f.grow(ctx, "-"+topic, user)
}

func (f Follows) grow(ctx context.Context, key, name string) error {
	name += ","
	for {
		_, err := kv.One(ctx, f.Store, kv.OpAppend(key, []byte(name)))
		if errors.Is(err, kv.ErrNotStored) {
			_, err = kv.One(ctx, f.Store, kv.OpAdd(key, []byte(name)))
		}
		if !errors.Is(err, kv.ErrExists) {
			return err
		}
		// Another writer has just created it.
	}
}

// Followers returns the followers of the topic, sorted by name. One trip.
func (f Follows) Followers(ctx context.Context, topic string) ([]string, error) {
	began, stopped, err := f.read(ctx, topic)
	if err != nil {
		return nil, err
	}
	return difference(began.Value, stopped.Value), nil
}

func (f Follows) read(ctx context.Context, topic string) (began, stopped kv.Result, err error) {
	results, err := kv.GetAll(ctx, f.Store, "+"+topic, "-"+topic)
	if err != nil {
		return began, stopped, err
	}
	return results[0], results[1], nil
}

// difference returns the names that are in began more often than in stopped.
func difference(began, stopped []byte) (names []string) {
	count := make(map[string]int)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(began), ","), ",") {
		count[name]++
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(stopped), ","), ",") {
		count[name]--
	}
	for name, n := range count {
		if n > 0 && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Compact removes former followers from both lists. It reports whether it wrote both; if others
// wrote at the same time, it can be called again.
func (f Follows) Compact(ctx context.Context, topic string) (bool, error) {
	began, stopped, err := f.read(ctx, topic)
	if err != nil || stopped.Err != nil || began.Err != nil {
		return false, err
	}
	follow := strings.Join(difference(began.Value, stopped.Value), ",")
	if follow != "" {
		follow += ","
	}
	// First the former followers: if others have written, nothing is lost.
	_, err = kv.One(ctx, f.Store, kv.OpDrop("-"+topic, stopped.Version))
	if err == nil {
		_, err = kv.One(ctx, f.Store, kv.OpSwap("+"+topic, began.Version, []byte(follow)))
	}
	if kv.Raced(err) {
		return false, nil
	}
	return err == nil, err
}
