package peers

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/internal/proof"
)

const testPages = 1000

type said struct {
	Question string
	Answer   any
}

func TestPeers_AllGiveTheSameAnswers(t *testing.T) {
	want := interview(t, &truth{})
	at := place.StartAll(t)
	for _, kind := range All {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			if err := place.Missing(kind.Server); err != nil {
				t.Skip(err)
			}
			at := at
			at.Dir = t.TempDir()
			peer, err := kind.Open(t.Context(), at)
			must(t, err)
			defer peer.Close()
			proof.NoDiff(t, cmp.Diff(want, interview(t, peer)), "answers")
		})
	}
}

// interview loads p, and asks about everything before and after changes of all kinds.
func interview(t *testing.T, p Peer) (all []said) {
	t.Helper()
	ctx := t.Context()
	must(t, p.Load(ctx, testPages))
	all = ask(t, ctx, p)

	for i := range int64(5) {
		must(t, p.Update(ctx, 10+i, MakeBody(uint64(1e6+i))))
		time.Sleep(time.Millisecond) // No two pages change at the same time.
	}
	topped, err := p.Top(ctx, 1)
	must(t, err)
	for range 3 {
		must(t, p.View(ctx, topped[0].Page().ID))
		must(t, p.View(ctx, 77))
	}
	must(t, p.Insert(ctx, &Page{Slug: "new", Title: "New", Body: "Body", Author: "a", Tags: []string{"x", "y", "z"}, UpdatedAt: time.Now().UTC()}))
	proof.Is(t, p.Insert(ctx, &Page{Slug: "new", Title: "Newer", Body: "Body", Author: "a", Tags: []string{"x"}, UpdatedAt: time.Now().UTC()}), ErrTaken)
	now := time.Now().UnixMicro()
	for i := range int64(40) {
		must(t, p.Visit(ctx, 3, Visit{Visitor: 500_000 + i%35, At: now + i}))
	}
	must(t, p.Visit(ctx, 4, Visit{Visitor: 4*Kept - 5, At: now}))
	for user := int64(1); user < 20; user++ {
		must(t, p.Follow(ctx, Topic, user))
	}
	for user := int64(15); user < 40; user++ {
		must(t, p.Unfollow(ctx, Topic, user))
	}
	must(t, p.Flush(ctx))
	return append(all, ask(t, ctx, p)...)
}

// ask leaves out times of changes, and the ids of pages that a peer has numbered itself.
func ask(t *testing.T, ctx context.Context, p Peer) (all []said) {
	t.Helper()
	say := func(question string, answer any, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		all = append(all, said{question, answer})
	}
	for _, id := range []int64{1, 12, 77, testPages} {
		row, err := p.Get(ctx, id)
		say(fmt.Sprint("get ", id), plain([]Row{row}, err), err)
		rank, err := p.Rank(ctx, id)
		say(fmt.Sprint("rank ", id), rank, err)
	}
	for _, offset := range []int{0, 500} {
		at := ""
		if offset > 0 {
			var err error
			at, err = p.Link(ctx, offset)
			must(t, err)
		}
		newest, err := p.Newest(ctx, at, 20)
		say(fmt.Sprint("newest from ", offset), plain(newest, err), err)
	}
	top, err := p.Top(ctx, 20)
	say("top", plain(top, err), err)
	for owner := int64(3); owner <= 5; owner++ {
		visits, err := p.Visits(ctx, owner, 10)
		say(fmt.Sprint("visits of ", owner), withoutTimes(visits), err)
		visits, err = p.Visits(ctx, owner, 2*Kept)
		say(fmt.Sprint("visits kept of ", owner), len(visits), err)
	}
	followers, err := p.Followers(ctx, Topic, 1000)
	slices.Sort(followers)
	say("followers", followers, err)
	return all
}

func plain(rows []Row, err error) []Page {
	if err != nil {
		return nil
	}
	all := make([]Page, len(rows))
	for i, row := range rows {
		all[i] = *row.Page()
		if all[i].ID < 0 || all[i].ID > testPages {
			all[i].ID = 0
		}
		if all[i].UpdatedAt.After(time.Unix(1_700_000_000+testPages, 0)) {
			all[i].UpdatedAt = time.Time{}
		}
		all[i].UpdatedAt = all[i].UpdatedAt.UTC()
	}
	return all
}

func withoutTimes(visits []Visit) []int64 {
	all := make([]int64, len(visits))
	for i, v := range visits {
		all[i] = v.Visitor
	}
	return all
}

var must = proof.Must
