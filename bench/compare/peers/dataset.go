package peers

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// The contents of every data set besides its pages.
const (
	Owners     = 1000 // with Kept visits each
	Topic      = 1    // the topic that users follow
	TopicUsers = 2000 // users who may follow it; those with even numbers do
)

var words = strings.Fields("data layer ring key value store record page newest ranking popular list topic follow visit batch tree packed tomb stone round trip slot shard cache 東京 検索 人気")

// MakePage returns page i of a data set of n, numbered from 1. All UpdatedAt and Views are
// distinct, in orders unrelated to the numbers.
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

// spread permutes the numbers 1..n, to numbers from 0; prime must not divide n.
func spread(i int64, n int, prime int64) int64 { return i * prime % int64(n) }

// MakeBody returns a text of about a KiB.
func MakeBody(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	var b strings.Builder
	for b.Len() < 1024 {
		fmt.Fprintf(&b, "%s-%x ", words[r.IntN(len(words))], r.Uint32()&0xffff)
	}
	return b.String()
}

// eachPage calls f with the pages of a data set in the order of their changes.
func eachPage(n int, f func(Page) error) error {
	order := make([]int64, n)
	for i := int64(1); i <= int64(n); i++ {
		order[spread(i, n, 7919)] = i
	}
	for _, i := range order {
		if err := f(MakePage(i, n)); err != nil {
			return err
		}
	}
	return nil
}

// eachBatch is eachPage with many pages in each call.
func eachBatch(n, size int, f func([]Page) error) error {
	var batch []Page
	return eachPage(n, func(p Page) error {
		batch = append(batch, p)
		n--
		if len(batch) < size && n > 0 {
			return nil
		}
		err := f(batch)
		batch = nil
		return err
	})
}

// eachOwner calls f with the visits of each owner of a data set, oldest first.
func eachOwner(f func(owner int64, vs []Visit) error) error {
	for owner := int64(1); owner <= Owners; owner++ {
		vs := make([]Visit, Kept)
		for i := range vs {
			n := (owner-1)*Kept + int64(i) + 1
			vs[i] = Visit{Visitor: n, At: n}
		}
		if err := f(owner, vs); err != nil {
			return err
		}
	}
	return nil
}

// eachFollower calls f with the followers of Topic.
func eachFollower(f func(user int64) error) error {
	for user := int64(2); user <= TopicUsers; user += 2 {
		if err := f(user); err != nil {
			return err
		}
	}
	return nil
}
