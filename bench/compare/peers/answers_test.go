package peers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/bench/compare/place"
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
			if diff := cmp.Diff(want, interview(t, peer)); diff != "" {
				t.Errorf("answers mismatch (-want +got):\n%s", diff)
			}
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
	if err := p.Insert(ctx, &Page{Slug: "new", Title: "Newer", Body: "Body", Author: "a", Tags: []string{"x"}, UpdatedAt: time.Now().UTC()}); !errors.Is(err, ErrTaken) {
		t.Errorf("a slug was taken twice: %v", err)
	}
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

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// truth is a peer that is plainly right: it searches and sorts slices.
type truth struct {
	pages   []Page
	visits  map[int64][]Visit
	follows []int64
}

func (t *truth) Load(_ context.Context, n int) error {
	t.visits = map[int64][]Visit{}
	for ps := range batches(n, n) {
		t.pages = ps
	}
	for owner, visits := range owners() {
		slices.Reverse(visits)
		t.visits[owner] = visits
	}
	t.follows = slices.Collect(followers())
	return nil
}

func pages(ps []Page) []Row {
	all := make([]Row, len(ps))
	for i := range ps {
		all[i] = &ps[i]
	}
	return all
}

func (t *truth) Close() error                { return nil }
func (t *truth) Flush(context.Context) error { return nil }

func (t *truth) page(id int64) *Page {
	return &t.pages[slices.IndexFunc(t.pages, func(p Page) bool { return p.ID == id })]
}

func (t *truth) Get(_ context.Context, id int64) (Row, error) { return t.page(id), nil }

func (t *truth) Newest(_ context.Context, at string, limit int) ([]Row, error) {
	offset, _ := strconv.Atoi(at) // 0 of ""
	slices.SortFunc(t.pages, func(a, b Page) int { return b.UpdatedAt.Compare(a.UpdatedAt) })
	return pages(slices.Clone(t.pages[offset : offset+limit])), nil
}

func (t *truth) Link(_ context.Context, offset int) (string, error) { return strconv.Itoa(offset), nil }

func (t *truth) Top(_ context.Context, limit int) ([]Row, error) {
	slices.SortFunc(t.pages, func(a, b Page) int { return cmp.Compare(b.Views, a.Views) })
	return pages(slices.Clone(t.pages[:limit])), nil
}

func (t *truth) Rank(_ context.Context, id int64) (int, error) {
	rank := 1
	for _, p := range t.pages {
		if p.Views > t.page(id).Views {
			rank++
		}
	}
	return rank, nil
}

func (t *truth) Update(_ context.Context, id int64, body string) error {
	t.page(id).Body, t.page(id).UpdatedAt = body, time.Now()
	return nil
}

func (t *truth) View(_ context.Context, id int64) error { t.page(id).Views++; return nil }

func (t *truth) Insert(_ context.Context, p *Page) error {
	if slices.ContainsFunc(t.pages, func(q Page) bool { return p.Slug == q.Slug }) {
		return ErrTaken
	}
	t.pages = append(t.pages, *p)
	return nil
}

func (t *truth) Visit(_ context.Context, owner int64, v Visit) error {
	others := slices.DeleteFunc(t.visits[owner], func(w Visit) bool { return w.Visitor == v.Visitor })
	all := slices.Insert(others, 0, v)
	t.visits[owner] = all[:min(len(all), Kept)]
	return nil
}

func (t *truth) Visits(_ context.Context, owner int64, limit int) ([]Visit, error) {
	return slices.Clone(t.visits[owner][:min(len(t.visits[owner]), limit)]), nil
}

func (t *truth) Follow(_ context.Context, _, user int64) error {
	if !slices.Contains(t.follows, user) {
		t.follows = append(t.follows, user)
	}
	return nil
}

func (t *truth) Unfollow(_ context.Context, _, user int64) error {
	t.follows = slices.DeleteFunc(t.follows, func(u int64) bool { return u == user })
	return nil
}

func (t *truth) Followers(_ context.Context, _ int64, limit int) ([]int64, error) {
	return slices.Clone(t.follows[:min(limit, len(t.follows))]), nil
}
