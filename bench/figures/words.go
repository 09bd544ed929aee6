package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/ringtree/ringtree/bench/figures/models"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// rankWords counts what a board of titles costs, of which one in a hundred begins with "The".
func rankWords(b *bench) error {
	return b.words("titles", b.size(20_000), func(rng *rand.Rand, title string) string {
		if rng.IntN(100) == 0 {
			return "The " + title
		}
		return title
	}, "The ", 1.4)
}

// rankOneBeginning is rankWords for a tenth as many titles, all of which have one beginning.
func rankOneBeginning(b *bench) error {
	const beginning = "Proceedings of the Conference on "
	return b.words("one beginning", b.size(20_000)/10, func(_ *rand.Rand, title string) string { return beginning + title }, beginning+"b", 0)
}

// titles makes titles of up to five words, which are as frequent as those of a language.
type titles struct {
	rng        *rand.Rand
	vocabulary []string
	zipf       *rand.Zipf
}

func newTitles(rng *rand.Rand) *titles {
	t := &titles{rng: rng}
	syllables := strings.Fields("a be co di e fra gen ho in jo ka lo ma ne or pa qui ra sen ti un ve wa xi ya zo the ing ter ght ou")
	for range 20_000 {
		word := ""
		for range 1 + rng.IntN(4) {
			word += syllables[rng.IntN(len(syllables))]
		}
		t.vocabulary = append(t.vocabulary, word)
	}
	t.zipf = rand.NewZipf(rng, 1.05, 10, uint64(len(t.vocabulary)-1))
	return t
}

func (t *titles) next() string {
	var words []string
	for range 1 + t.rng.IntN(5) {
		word := t.vocabulary[t.zipf.Uint64()]
		if t.rng.IntN(2) == 0 {
			word = strings.ToUpper(word[:1]) + word[1:]
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// words counts for n titles. prefix is that of some of them. An insert takes at most so many
// times the ops that it takes on a board of numbers, 0 for as many as it takes: reports on a long
// way wait for others, so that depends on how fast inserts come.
func (b *bench) words(load string, n int, title func(rng *rand.Rand, title string) string, prefix string, times float64) error {
	rng := rand.New(rand.NewPCG(1, 2))
	some, store := newTitles(rng), memkv.New(memkv.Options{})
	var onBoards tally
	db, m, err := openModels(onBoards.of("rank:", powerless{store}))
	if err != nil {
		return err
	}
	var ids []string
	numbers, _, err := b.inserts(&onBoards, db, n, func() error {
		id := kvmodel.NewID(time.Now())[10:]
		return m.Weights.Create(b.ctx, &models.Weight{ID: id, Text: some.next(), Grams: zipfLoad.score(rng)})
	})
	if err != nil {
		return err
	}
	words, first, err := b.inserts(&onBoards, db, n, func() error {
		id := kvmodel.NewID(time.Now())[10:]
		ids = append(ids, id)
		return m.Titles.Create(b.ctx, &models.Title{ID: id, Text: title(rng, some.next())})
	})
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d words, %s: ", n, load)
	limit := target{}
	if times > 0 {
		limit = atMost(times)
	}
	b.report(name+"ops of the board for an insert", round(words.ops), target{}.varying())
	b.report(name+"those for one of the first 8,192", round(first.ops), target{}.varying())
	b.report(name+"those of a board of numbers", round(numbers.ops), target{}.varying())
	b.report(name+"how many times those", round(words.ops/numbers.ops), limit.varying())
	if err := b.askWords(name, m.Titles.TextAZ, ids, prefix); err != nil {
		return err
	}
	if err := b.checkWords(name, m, store); err != nil {
		return err
	}
	return db.Close(b.ctx)
}

// exactCounts is up to how many members the counts of a board are exact.
const exactCounts = 8192

// inserts counts what n inserts take, and what the first of them do, while counts are exact.
func (b *bench) inserts(on *tally, db *kvmodel.DB, n int, insert func() error) (all, first counted, err error) {
	some := func(n int) error {
		for i := range n {
			if err := insert(); err != nil {
				return err
			}
			if i%100 == 99 {
				if err := db.Flush(b.ctx); err != nil {
					return err
				}
			}
		}
		return db.Flush(b.ctx)
	}
	few := min(n, exactCounts)
	all, err = on.during(n, func() (err error) {
		if first, err = on.during(few, func() error { return some(few) }); err != nil {
			return err
		}
		return some(n - few)
	})
	return all, first, err
}

// of returns s such that t counts ops whose keys begin with begin.
func (t *tally) of(begin string, s kvmodel.Store) kvmodel.Store {
	return kvmodel.Trace(s, func(_ context.Context, trip kvmodel.Trip) {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, op := range trip.Ops {
			if strings.HasPrefix(op.Key, begin) {
				t.ops++
			}
		}
	})
}

// askWords counts what questions take.
func (b *bench) askWords(name string, board *ranking.Board[models.Title, string, string], ids []string, prefix string) error {
	const asks = 200
	for _, q := range []struct {
		what  string
		trips float64
		ask   func(ctx context.Context, i int) error
	}{
		{"page of 20", 2, func(ctx context.Context, _ int) error { _, err := board.Page(ctx, "", 20); return err }},
		// Where few titles in the first leaf have the prefix, a page takes a trip more.
		{"page of 20 with a prefix", 2.1, func(ctx context.Context, i int) error {
			_, err := board.Prefix(prefix+string(rune('a'+i%20))).Page(ctx, "", 20)
			return err
		}},
		{"count with a prefix", 1, func(ctx context.Context, i int) error { _, err := board.Prefix(prefix).Count(ctx); return err }},
		{"rank", 2, func(ctx context.Context, i int) error { _, err := board.Rank(ctx, ids[i*len(ids)/asks]); return err }},
	} {
		var asked spread
		for i := range 2 * asks {
			if i == asks {
				asked = spread{} // What was new is known by now.
			}
			if err := b.addTo(&asked, func(ctx context.Context) error { return q.ask(ctx, i%asks) }); err != nil {
				return err
			}
		}
		b.report(name+q.what+": trips", round(asked.mean(asked.sum.Trips)), atMost(q.trips).varying())
		b.report(name+q.what+": keys", round(asked.mean(asked.sum.Keys)), target{}.varying())
		b.report(name+q.what+": bytes", round(asked.mean(asked.sum.Read)), target{}.varying())
	}
	return nil
}

// checkWords looks at the whole board: its shape, and whether its order is that of the
// collator.
func (b *bench) checkWords(name string, m *models.Models, store *memkv.Store) error {
	board := m.Titles.TextAZ
	report, err := board.Verify(b.ctx)
	if err != nil {
		return err
	}
	wrong, shown, last := 0, 0, []byte(nil)
	var buffer collate.Buffer
	by := collate.New(language.Und)
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := board.Page(b.ctx, cursor, 500)
		if err != nil {
			return err
		}
		for _, t := range page.Items {
			buffer.Reset()
			key := bytes.Clone(by.KeyFromString(&buffer, t.Text))
			if bytes.Compare(last, key) > 0 {
				wrong++
			}
			last = key
		}
		shown, cursor = shown+len(page.Items), page.Next
	}
	longest := 0
	for _, key := range store.Keys() {
		if strings.Contains(key, ":key0") {
			longest = max(longest, len(key))
		}
	}
	b.report(name+"titles that are not shown, or not where the collator puts them", float64(report.Members-shown+wrong), exactly(0))
	b.report(name+"what is wrong with its nodes", float64(len(report.Wrong)), exactly(0))
	b.report(name+"pages on the way to a member", round(float64(report.Way)/float64(report.Members)), target{}.varying())
	b.report(name+"pages on the longest way", float64(report.Depth+1), target{}.varying())
	b.report(name+"bytes of the longest key", float64(longest), atMost(206).varying())
	b.report(name+"members to a leaf", round(float64(report.Members)/float64(report.Leaves)), target{}.varying())
	b.report(name+"bytes of a node for each member", round(float64(report.Bytes)/float64(report.Members)), target{}.varying())
	return nil
}
