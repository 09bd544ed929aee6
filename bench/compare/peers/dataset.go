package peers

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
)

const (
	Owners     = 1000 // with Kept visits each
	Topic      = 1
	TopicUsers = 2000 // users who may follow it; those with even numbers do
)

var words = strings.Fields("data layer ring key value store record page newest ranking popular list topic follow visit batch tree packed tomb stone round trip slot shard cache 東京 検索 人気")

// MakePage returns page i of n, from 1. All UpdatedAt and Views are distinct, and in orders of
// their own.
func MakePage(i int64, n int) Page {
	byViews := spread(i, n, 104729)
	return Page{
		ID:        i,
		Slug:      fmt.Sprintf("page-%d-%x", i, uint32(i*2654435761)),
		Title:     fmt.Sprintf("Title of page %d about %s and %s", i, word(i), word(i/28)),
		Body:      MakeBody(uint64(i)),
		Author:    fmt.Sprintf("author%d", i%5003),
		Tags:      []string{word(i), word(i * 7), word(i * 13)},
		UpdatedAt: time.Unix(1_700_000_000+spread(i, n, 7919), 0).UTC(),
		Views:     50_000_000/(1+byViews) + int64(n) - byViews,
	}
}

func word(i int64) string { return words[i%int64(len(words))] }

// spread permutes 1..n, to numbers from 0; prime must not divide n.
func spread(i int64, n int, prime int64) int64 { return i * prime % int64(n) }

func MakeBody(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for b.Len() < 1024 {
		fmt.Fprintf(&b, "%s-%x ", words[r.IntN(len(words))], r.Uint32()&0xffff)
	}
	return b.String()
}

func inOrder(n int) []int64 {
	order := make([]int64, n)
	for i := range int64(n) {
		order[spread(i+1, n, 7919)] = i + 1
	}
	return order
}

func batches(n, size int) iter.Seq[[]Page] {
	return func(yield func([]Page) bool) {
		for some := range slices.Chunk(inOrder(n), size) {
			batch := make([]Page, len(some))
			for i, number := range some {
				batch[i] = MakePage(number, n)
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// owners yields each owner with the visits there, oldest first.
func owners() iter.Seq2[int64, []Visit] {
	return func(yield func(int64, []Visit) bool) {
		for owner := int64(1); owner <= Owners; owner++ {
			visits := make([]Visit, Kept)
			for i := range visits {
				n := (owner-1)*Kept + int64(i) + 1
				visits[i] = Visit{Visitor: n, At: n}
			}
			if !yield(owner, visits) {
				return
			}
		}
	}
}

func followers() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for user := int64(2); user <= TopicUsers && yield(user); user += 2 {
		}
	}
}

func tablesOf(n int, tags func([]string) any) []place.Table {
	order := inOrder(n)
	return []place.Table{
		place.NewTable("pages", pageColumns, n, func(i int) []any {
			p := MakePage(order[i], n)
			return []any{p.ID, p.Slug, p.Title, p.Body, p.Author, tags(p.Tags), p.UpdatedAt, p.Views}
		}),
		place.NewTable("footprints", "owner visitor at", Owners*Kept, func(i int) []any { return []any{i/Kept + 1, i + 1, i + 1} }),
		place.NewTable("followers", "topic user_id", TopicUsers/2, func(i int) []any { return []any{Topic, 2*i + 2} }),
	}
}

const pageColumns = "id slug title body author tags updated_at views"
