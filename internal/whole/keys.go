package whole

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
)

// JudgeKeys returns the models that do not return each live record under keys, all keys of the
// store, exactly once in All and in Each.
func (l *Library) JudgeKeys(ctx context.Context, keys []string) []string {
	return slices.Concat(
		judgeKeys(ctx, "Work", l.Works.Records, keys),
		judgeKeys(ctx, "Like", l.Likes.Records, keys),
		judgeKeys(ctx, "Offer", l.Offers.Records, keys),
		judgeKeys(ctx, "Bid", l.Bids.Records, keys),
		judgeKeys(ctx, "Ticket", l.Tickets.Records, keys),
		judgeKeys(ctx, "Piece", l.Pieces.Records, keys),
		judgeKeys(ctx, "Poll", l.Polls.Records, keys),
		judgeKeys(ctx, "Vote", l.Votes.Records, keys),
	)
}

func judgeKeys[T any, K comparable](ctx context.Context, name string, r *kvmodel.Records[T, K], keys []string) (wrong []string) {
	var ids []K
	for _, key := range keys {
		if text, ok := strings.CutPrefix(key, "r:"+name+":"); ok {
			id, err := r.IDs().Parse(text)
			if err != nil {
				return []string{name + " All: " + err.Error()}
			}
			ids = append(ids, id)
		}
	}
	there, err := live(ctx, r, ids)
	var each, all []*T
	err = cmp.Or(err, r.Each(ctx, kvmodel.Walk{}, func(v *T) error { each = append(each, v); return nil }))
	for v, e := range r.All(ctx) {
		all, err = append(all, v), cmp.Or(err, e)
	}
	if err != nil {
		return []string{name + " All: " + err.Error()}
	}
	text := func(v *T) string { return r.IDs().Text(r.ID(v)) }
	want := those(there, text, func(*T) bool { return true })
	for question, given := range map[string][]*T{"All": all, "Each": each} {
		if got := those(given, text, func(*T) bool { return true }); got != want {
			wrong = append(wrong, fmt.Sprintf("%s All: the keys name %q, and %s gives %q", name, want, question, got))
		}
	}
	return wrong
}
