package conduit

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

// Feed is GET /api/articles/feed: the articles of all authors that viewer follows, newest first, up
// to a thousand, the range of a page.
func (a *App) Feed(ctx context.Context, viewer string, part Part) (*ArticlePage, error) {
	var authors []string
	for id, err := range a.m.Follows.ByReader.Of(viewer).IDs(ctx) {
		if err != nil {
			return nil, err
		}
		authors = append(authors, id.Author)
	}
	newest, total, err := a.newestOf(ctx, authors, min(part.Offset+part.Limit, kvmodel.MaxPage))
	if err != nil {
		return nil, err
	}
	newest = newest[min(part.Offset, len(newest)):]
	return a.page(ctx, viewer, newest, min(total, kvmodel.MaxPage))
}

// manyRings is the maximum number of rings that can be read as one.
const manyRings = 64

func (a *App) newestOf(ctx context.Context, authors []string, n int) ([]*Article, int, error) {
	groups := slices.Collect(slices.Chunk(authors, manyRings))
	newest, totals := make([][]*Article, len(groups)), make([]int, len(authors))
	var works []func(context.Context) error
	for i, group := range groups {
		works = append(works, func(ctx context.Context) error {
			l, err := a.m.Articles.NewestByAuthor.Of(group...).Page(ctx, "", n)
			newest[i] = l.Items
			return err
		})
	}
	for i, author := range authors {
		works = append(works, func(ctx context.Context) (err error) {
			totals[i], err = a.m.Articles.TopMadeByAuthor.Of(author).Len(ctx)
			return err
		})
	}
	if err := a.db.SideBySide(ctx, works...); err != nil {
		return nil, 0, err
	}
	all, total := slices.Concat(newest...), 0
	slices.SortStableFunc(all, func(a, b *Article) int { return b.Made.Compare(a.Made) })
	for _, n := range totals {
		total += n
	}
	return all[:min(n, len(all))], total, nil
}
