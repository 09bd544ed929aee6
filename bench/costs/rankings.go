package costs

import (
	"errors"
	"fmt"
)

func priced(id string, price int64) *Priced { return &Priced{ID: id, Price: price, Text: text} }

func fillPriced(w *world) error {
	return w.Priceds.CreateMulti(w.ctx, many(1000, func(i int) *Priced { return priced(id(i+1), int64(i)*7919%100_003) }))
}

func reprice(p *Priced) error { p.Price += 40_000; return nil }

var rankings = section{
	title: "Rankings by a field",
	text:  "1,000 records, some with a category or tags.",
	fill: func(w *world) error {
		err := fillPriced(w)
		w.n = 1000
		return errors.Join(err,
			w.Goods.Create(w.ctx, &Good{ID: w.id(), Category: "tea", Price: 3, Text: text}),
			w.Articles.Create(w.ctx, &Article{ID: w.id(), Tags: []string{"a", "b", "c"}, Made: 3, Text: text}))
	},
	warm: func(w *world) error {
		return errors.Join(
			last(w.Priceds.TopPrice.Len(w.ctx)),
			last(w.Goods.TopPriceByCategory.Of("tea").Len(w.ctx)),
			last(w.Articles.TopMadeByTags.Of("a").Len(w.ctx)))
	},
	rows: []row{
		{name: "Create with a ranking", do: func(w *world) error { return w.Priceds.Create(w.ctx, priced(w.id(), 500)) }},
		{name: "Create with a ranking of its category", do: func(w *world) error {
			return w.Goods.Create(w.ctx, &Good{ID: w.id(), Category: "tea", Price: 4, Text: text})
		}},
		{name: "Create with a ranking, the first of its category", do: func(w *world) error {
			return w.Goods.Create(w.ctx, &Good{ID: w.id(), Category: "new", Price: 4, Text: text})
		}},
		{name: "Create with rankings of three tags", do: func(w *world) error {
			return w.Articles.Create(w.ctx, &Article{ID: w.id(), Tags: []string{"a", "b", "c"}, Made: 4, Text: text})
		}},
		{name: "CreateMulti of 100 with a ranking", do: func(w *world) error {
			return w.Priceds.CreateMulti(w.ctx, many(100, func(i int) *Priced { return priced(w.id(), int64(i)*997) }))
		}},
		{name: "Update of another field", do: func(w *world) error {
			return last(w.Priceds.Update(w.ctx, id(10), func(p *Priced) error { p.Text += "!"; return nil }))
		}},
		{name: "Update of the score", do: func(w *world) error { return last(w.Priceds.Update(w.ctx, id(11), reprice)) }},
		{
			name: "Update of the score, read a moment ago", before: func(w *world) error { return last(w.Priceds.Get(w.ctx, id(12))) }, wait: atOnce,
			do: func(w *world) error { return last(w.Priceds.Update(w.ctx, id(12), reprice)) },
		},
		{
			name: "Update of the category", before: func(w *world) error { return last(w.Goods.TopPriceByCategory.Of("new").Len(w.ctx)) },
			do: func(w *world) error {
				return last(w.Goods.Update(w.ctx, id(1001), func(g *Good) error { g.Category = "new"; return nil }))
			},
		},
		{name: "Update to a category that is new", do: func(w *world) error {
			return last(w.Goods.Update(w.ctx, id(1001), func(g *Good) error { g.Category = "newer"; return nil }))
		}},
		{name: "UpdateMulti of 100 scores", do: func(w *world) error { return last(w.Priceds.UpdateMulti(w.ctx, ids(1000)[100:200], reprice)) }},
		{name: "Delete with a ranking", do: func(w *world) error { return w.Priceds.Delete(w.ctx, id(13)) }},
		{
			name: "Page of 20, with something new",
			before: func(w *world) error {
				return errors.Join(last(w.Priceds.TopPrice.Page(w.ctx, "", 20)), w.Priceds.Create(w.ctx, priced(w.id(), 1_000_000)))
			},
			do: func(w *world) error { return last(w.Priceds.TopPrice.Page(w.ctx, "", 20)) },
		},
		{name: "Page of 20, as it was read last", do: func(w *world) error { return last(w.Priceds.TopPrice.Page(w.ctx, "", 20)) }},
		{name: "Page of 20 further on", do: func(w *world) error {
			first, err := w.Priceds.TopPrice.Page(w.own, "", 20)
			if err != nil {
				return err
			}
			return last(w.Priceds.TopPrice.Page(w.ctx, first.Next, 20))
		}},
		{name: "Table of 20, as it was read last", do: func(w *world) error { return last(w.Priceds.TopPrice.Table(w.ctx, "", 20)) }},
		{
			name: "At(501, 20)", before: func(w *world) error { return last(w.Priceds.TopPrice.At(w.ctx, 501, 19)) },
			do: func(w *world) error { return last(w.Priceds.TopPrice.At(w.ctx, 501, 20)) },
		},
		{name: "Numbered(7, 20)", do: func(w *world) error { return last(w.Priceds.TopPrice.Numbered(w.ctx, 7, 20)) }},
		{name: "Numbered(7, 20), as it was read last", do: func(w *world) error { return last(w.Priceds.TopPrice.Numbered(w.ctx, 7, 20)) }},
		{name: "Rank", do: func(w *world) error { return last(w.Priceds.TopPrice.Rank(w.ctx, id(20))) }},
		{name: "Standing", do: func(w *world) error { return last(w.Priceds.TopPrice.Standing(w.ctx, id(21))) }},
		{name: "Percentile", do: func(w *world) error { return last(w.Priceds.TopPrice.Percentile(w.ctx, id(22))) }},
		{name: "RankOf", do: func(w *world) error { return last(w.Priceds.TopPrice.RankOf(w.ctx, 5000)) }},
		{name: "Around, 5 on each side", do: func(w *world) error { return last(w.Priceds.TopPrice.Around(w.ctx, id(23), 5)) }},
		{name: "Between, a page of 20", do: func(w *world) error { return last(w.Priceds.TopPrice.Between(1000, 90_000).Page(w.ctx, "", 20)) }},
		{name: "Between, Count", do: func(w *world) error { return last(w.Priceds.TopPrice.Between(1000, 90_000).Count(w.ctx)) }},
		{name: "Len", do: func(w *world) error { return last(w.Priceds.TopPrice.Len(w.ctx)) }},
		{name: "IDs of 20", do: func(w *world) error {
			_, _, err := w.Priceds.TopPrice.IDs(w.ctx, "", 20)
			return err
		}},
	},
}

func tied(id string, stars int64) *Tied { return &Tied{ID: id, Stars: stars, Text: text} }

var ties = section{
	title: "Equal scores",
	text:  "1,000 records with ten different scores, in a ranking with `ties=newest` and in one with `ties=dense`.",
	fill: func(w *world) error {
		w.n = 1000
		return w.Tieds.CreateMulti(w.ctx, many(1000, func(i int) *Tied { return tied(id(i+1), int64(i%10)) }))
	},
	warm: func(w *world) error {
		return errors.Join(last(w.Tieds.TopStars.Len(w.ctx)), last(w.Tieds.Chart.Len(w.ctx)))
	},
	rows: []row{
		{name: "Create on both boards", do: func(w *world) error { return w.Tieds.Create(w.ctx, tied(w.id(), 5)) }},
		{name: "Update of a score on both boards", do: func(w *world) error {
			return last(w.Tieds.Update(w.ctx, id(11), func(t *Tied) error { t.Stars = 9; return nil }))
		}},
		{
			name: "Page of 20, ties=newest", before: func(w *world) error { return last(w.Tieds.TopStars.Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Tieds.TopStars.Page(w.ctx, "", 20)) },
		},
		{
			name: "Page of 20, ties=dense", before: func(w *world) error { return last(w.Tieds.Chart.Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Tieds.Chart.Page(w.ctx, "", 20)) },
		},
		{name: "Rank, ties=newest", do: func(w *world) error { return last(w.Tieds.TopStars.Rank(w.ctx, id(20))) }},
		{name: "Rank, ties=dense", do: func(w *world) error { return last(w.Tieds.Chart.Rank(w.ctx, id(20))) }},
		{name: "RankOf, ties=dense", do: func(w *world) error { return last(w.Tieds.Chart.RankOf(w.ctx, 5)) }},
	},
}

func titled(id string, i int) *Titled {
	first, second := []string{"Early", "great", "Old", "tidal", "White"}, []string{"birds", "Forests", "rivers", "Songs", "winters"}
	return &Titled{ID: id, Title: fmt.Sprintf("%s %s %d", first[i*7%5], second[i/5%5], i*7919%100_003), Text: text}
}

var words = section{
	title: "Rankings from A to Z",
	text:  "1,000 records with titles of about twenty letters.",
	fill: func(w *world) error {
		w.n = 1000
		return w.Titleds.CreateMulti(w.ctx, many(1000, func(i int) *Titled { return titled(id(i+1), i) }))
	},
	warm: func(w *world) error { return last(w.Titleds.TitleAZ.Len(w.ctx)) },
	rows: []row{
		{name: "Create with a title", do: func(w *world) error { return w.Titleds.Create(w.ctx, titled(w.id(), 1001)) }},
		{name: "Update of the title", do: func(w *world) error {
			return last(w.Titleds.Update(w.ctx, id(11), func(t *Titled) error { t.Title = "Old songs of " + t.Title; return nil }))
		}},
		{name: "Delete with a title", do: func(w *world) error { return w.Titleds.Delete(w.ctx, id(13)) }},
		{
			name: "Page of 20 from A on", before: func(w *world) error { return last(w.Titleds.TitleAZ.Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Titleds.TitleAZ.Page(w.ctx, "", 20)) },
		},
		{
			name: "Prefix, a page of 20", before: func(w *world) error { return last(w.Titleds.TitleAZ.Prefix("old f").Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Titleds.TitleAZ.Prefix("old f").Page(w.ctx, "", 20)) },
		},
		{name: "Prefix, Count", do: func(w *world) error { return last(w.Titleds.TitleAZ.Prefix("old").Count(w.ctx)) }},
		{name: "Rank of a title", do: func(w *world) error { return last(w.Titleds.TitleAZ.Rank(w.ctx, id(20))) }},
	},
}

var counted = section{
	title: "Rankings by a counter",
	text:  "100 records, with `batch=window`, `every`, and per day.",
	fill: func(w *world) error {
		err := errors.Join(
			w.Vieweds.CreateMulti(w.ctx, many(100, func(i int) *Viewed { return &Viewed{ID: id(i + 1), Text: text} })),
			w.Playeds.CreateMulti(w.ctx, many(100, func(i int) *Played { return &Played{ID: id(i + 1), Text: text} })),
			w.Dailies.CreateMulti(w.ctx, many(100, func(i int) *Daily { return &Daily{ID: id(i + 1), Text: text} })))
		for i := range 100 {
			err = errors.Join(err,
				last(w.Vieweds.Views.Add(w.ctx, id(i+1), int64(i+1))),
				last(w.Playeds.Plays.Add(w.ctx, id(i+1), int64(i+1))),
				last(w.Dailies.Views.Add(w.ctx, id(i+1), int64(i+1))))
		}
		return err
	},
	warm: func(w *world) error {
		return errors.Join(last(w.Vieweds.TopViews.Len(w.ctx)), last(w.Playeds.TopPlays.Len(w.ctx)), last(w.Dailies.TopViewsPerDay.Len(w.ctx)))
	},
	rows: []row{
		{name: "Hit, followed within a second", do: func(w *world) error { return last(w.Vieweds.Views.Hit(w.ctx, id(1))) }},
		{name: "Hit, followed before the reply", do: func(w *world) error { return last(w.Playeds.Plays.Hit(w.ctx, id(1))) }},
		{name: "Hit, counted by the day", do: func(w *world) error { return last(w.Dailies.Views.Hit(w.ctx, id(1))) }},
		{name: "Create with a ranking by a counter", do: func(w *world) error { return w.Vieweds.Create(w.ctx, &Viewed{ID: id(200), Text: text}) }},
		{name: "Delete with a ranking by a counter", do: func(w *world) error { return w.Vieweds.Delete(w.ctx, id(2)) }},
		{
			name: "Page of 20 by a counter", before: func(w *world) error { return last(w.Vieweds.TopViews.Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Vieweds.TopViews.Page(w.ctx, "", 20)) },
		},
		{name: "Page of 20 by a counter, as it was read last", do: func(w *world) error { return last(w.Vieweds.TopViews.Page(w.ctx, "", 20)) }},
		{
			name: "Page of 20 of today", before: func(w *world) error { return last(w.Dailies.TopViewsPerDay.Page(w.ctx, "", 19)) },
			do: func(w *world) error { return last(w.Dailies.TopViewsPerDay.Page(w.ctx, "", 20)) },
		},
		{name: "Last(7, 20)", do: func(w *world) error {
			_, _, err := w.Dailies.TopViewsPerDay.Last(w.ctx, 7, 20)
			return err
		}},
		{name: "Rank by a counter", do: func(w *world) error { return last(w.Vieweds.TopViews.Rank(w.ctx, id(5))) }},
	},
}
