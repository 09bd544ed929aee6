package whole

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking"
)

// Shown is the answers of a library: a text for each question.
type Shown map[string]string

const NeedsRebuild = "needs a rebuild"

// If something stored is damaged, say shows the values and the error.
func (s Shown) say(question string, err error, values ...any) {
	switch {
	case errors.Is(err, kvmodel.ErrNeedsRebuild):
		s[question] = NeedsRebuild
	case errors.Is(err, kvmodel.ErrCorrupt):
		s[question] = fmt.Sprint(fmt.Sprint(values...), " error: ", err)
	case err != nil:
		s[question] = "error: " + err.Error()
	default:
		s[question] = strings.TrimSuffix(fmt.Sprintln(values...), "\n")
	}
}

func sayAll[V any](s Shown, question string, seq iter.Seq2[V, error], text func(V) string, sorted bool) {
	var texts []string
	var errs []error
	for v, err := range seq {
		if err != nil {
			errs = append(errs, err)
		}
		if err != nil && !errors.Is(err, kvmodel.ErrCorrupt) {
			break // only damage lets a sequence continue
		}
		if err != nil {
			continue
		}
		texts = append(texts, text(v))
	}
	if sorted {
		slices.Sort(texts)
	}
	s.say(question, errors.Join(errs...), strings.Join(texts, " "))
}

// Differences returns the questions that want and got answer differently, sorted. Questions missing
// in want do not count.
func (s Shown) Differences(got Shown) []string {
	var lines []string
	for question, want := range s {
		if got[question] != want {
			lines = append(lines, fmt.Sprintf("%s: want %q, got %q", question, want, got[question]))
		}
	}
	slices.Sort(lines)
	return lines
}

func list[T any, K comparable](ctx context.Context, s Shown, name string, l *index.List[T, K], id func(*T) string) {
	sayAll(s, name+" All", l.All(ctx), id, true)
	sayAll(s, name+" IDs", l.IDs(ctx), func(k K) string { return fmt.Sprint(k) }, true)
	n, err := l.Size(ctx)
	s.say(name+" Size", err, n)
	n, err = l.Count(ctx)
	s.say(name+" Count", err, n)
	sayAll(s, name+" Page", pages(ctx, l, 3), id, true)
}

// The order of values with equal counts is random, so they are sorted.
func values(ctx context.Context, s Shown, name string, v *ranking.Values[string], words []string) {
	text := func(item *ranking.Value[string]) string { return fmt.Sprint(item.Value, "=", item.Count) }
	sayAll(s, name+" Page", pages(ctx, v, 2), text, true)
	last := int64(math.MaxInt64)
	sayAll(s, name+" odd order", pages(ctx, v, 2), func(item *ranking.Value[string]) string {
		defer func() { last = item.Count }()
		if item.Count <= last {
			return ""
		}
		return text(item) + " comes late"
	}, true)
	s[name+" odd order"] = strings.TrimSpace(s[name+" odd order"])
	sayAll(s, name+" Words", v.All(ctx), text, false)
	n, err := v.Len(ctx)
	s.say(name+" Len", err, n)
	for _, word := range append(words[:len(words):len(words)], "nobody's") {
		n, err := v.Count(ctx, word)
		s.say(name+" Count "+word, err, n)
	}
}

func pages[T any](ctx context.Context, l kvmodel.Lister[T], n int) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for cursor := ""; ; {
			page, err := l.Page(ctx, cursor, n)
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if err != nil && (!yield(nil, err) || !errors.Is(err, kvmodel.ErrCorrupt)) {
				return
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}

const atOnce = 7

// The order of records with equal scores is random, so they are sorted by id.
func board[T any, K comparable, S cmp.Ordered](ctx context.Context, s Shown, name string, b *ranking.Board[T, K, S], id func(*T) K) {
	boardBy(ctx, s, name, b, id, func(score S) S { return score })
}

func boardBy[T any, K comparable, S any, C cmp.Ordered](ctx context.Context, s Shown, name string, b *ranking.Board[T, K, S], id func(*T) K, by func(S) C) {
	n, err := b.Len(ctx)
	s.say(name+" Len", err, n)
	var places []ranking.Place[T, S]
	for {
		some, err := b.At(ctx, 1+len(places), atOnce)
		if err != nil {
			s.say(name+" At", err)
			s.say(name+" odd ranks", err)
			sayAll(s, name+" Page", pages(ctx, b, 4), func(v *T) string { return fmt.Sprint(id(v)) }, true)
			return
		}
		places = append(places, some...)
		if len(some) < atOnce {
			break
		}
	}
	var at, odd []string
	for _, group := range groups(places, func(p ranking.Place[T, S]) C { return by(p.Score) }) {
		var ids []string
		for _, p := range group {
			ids = append(ids, fmt.Sprint(id(p.Item)))
			rank, err := b.Rank(ctx, id(p.Item))
			if err != nil || rank != p.Rank {
				odd = append(odd, fmt.Sprintf("%v has rank %d, %v, but stands at %d;", id(p.Item), rank, err, p.Rank))
			}
		}
		slices.Sort(ids)
		at = append(at, fmt.Sprintf("%d: %s at %v;", group[0].Rank, strings.Join(ids, " "), by(group[0].Score)))
	}
	s.say(name+" At", nil, strings.Join(at, " "))
	if err == nil && n != len(places) {
		odd = append(odd, fmt.Sprintf("Len is %d, and At shows %d;", n, len(places)))
	}
	s.say(name+" odd ranks", nil, strings.Join(odd, " "))
	sayAll(s, name+" Page", pages(ctx, b, 4), func(v *T) string { return fmt.Sprint(id(v)) }, true)
}

func groups[V any, C comparable](values []V, key func(V) C) [][]V {
	var all [][]V
	for i, v := range values {
		if i == 0 || key(v) != key(values[i-1]) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], v)
	}
	return all
}

// SaysLoss reports whether an answer reports a loss, or that the store cannot be asked.
func SaysLoss(answer string) bool {
	return answer == NeedsRebuild || slices.ContainsFunc([]error{kvmodel.ErrNeedsRebuild, kv.ErrLost, kv.ErrUnavailable, kv.ErrUnclear}, func(err error) bool {
		return strings.Contains(answer, err.Error())
	})
}
