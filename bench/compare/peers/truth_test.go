package peers

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"
)

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
