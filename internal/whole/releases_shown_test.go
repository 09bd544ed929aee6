package whole_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

type (
	boardSpec = ranking.Spec[paper, int64]
	newsSpec  = timeline.EventsSpec[paper, string]
)

// ofEach shows a text of each paper, unless it is "".
func ofEach(text func(*paper) string) sight {
	return func(p *papers) asked {
		return asked{
			show: func(ctx context.Context) ([]string, error) { return sorted(p.All(ctx), text) },
			want: func(tr *ledger) (all []string) {
				for _, p := range tr.all {
					if line := text(&p); line != "" {
						all = append(all, line)
					}
				}
				slices.Sort(all)
				return all
			},
		}
	}
}

var (
	records = ofEach(func(p *paper) string { return fmt.Sprint(p.ID, p.Code, p.Text, p.Score, p.Tags) })
	views   = ofEach(func(p *paper) string { return fmt.Sprint(p.ID, ": ", p.Views) })
	extra   = ofEach(func(p *paper) string {
		if p.Extra == "" {
			return ""
		}
		return p.ID + p.Extra
	})
)

func sorted(all iter.Seq2[*paper, error], text func(*paper) string) (texts []string, err error) {
	for p, err := range all {
		if err != nil {
			return nil, err
		}
		if line := text(p); line != "" {
			texts = append(texts, line)
		}
	}
	slices.Sort(texts)
	return texts, nil
}

func idsOf(all []*paper) (ids []string) {
	for _, p := range all {
		ids = append(ids, p.ID)
	}
	return ids
}

func unique(p *papers) asked { return uniqueOf("Code", "")(p) }

func held(p *papers) asked {
	began := time.Now()
	return uniqueOf("Code", " for 1000h", index.HeldFor(1000*time.Hour, func(*paper) time.Time { return began }))(p)
}

func uniqueOf(field, def string, options ...index.UniqueOption) sight {
	return func(p *papers) asked {
		u := index.NewUnique(p, kvmodel.IndexSpec[paper, string]{
			Name: "ByCode", Def: "unique Code string" + def, Fields: []string{field}, Key: kvmodel.StringKey[string](),
			Values: func(p *paper) []string { return []string{p.Code} },
		}, options...)
		return asked{
			show: func(ctx context.Context) (ids []string, err error) {
				for i := range 130 {
					for _, more := range []string{"", "x", "xx", "xxx", "xxxx"} {
						rec, err := u.Find(ctx, fmt.Sprint("c", i, more))
						if err == nil {
							ids = append(ids, rec.ID)
						} else if !errors.Is(err, kvmodel.ErrNotFound) {
							return nil, err
						}
					}
				}
				slices.Sort(ids)
				return ids, nil
			},
			want: func(tr *ledger) []string { return slices.Sorted(maps.Keys(tr.all)) },
		}
	}
}

func tagged(def string, low bool, options ...index.ListOption) sight {
	return listed(def, "Tags", "red", func(p *paper) []string { return p.Tags }, func(p *paper) bool { return !low || p.Score < 50 }, options...)
}

func listed(def, field, value string, values func(*paper) []string, fits func(*paper) bool, options ...index.ListOption) sight {
	return func(p *papers) asked {
		l := index.NewLists(p, kvmodel.IndexSpec[paper, string]{
			Name: "ByTags", Def: def, Fields: []string{field}, Key: kvmodel.StringKey[string](), Values: values, If: fits,
		}, options...)
		return asked{
			show: func(ctx context.Context) ([]string, error) {
				return sorted(l.Of(value).All(ctx), func(p *paper) string { return p.ID })
			},
			want: func(tr *ledger) []string {
				return tr.ids(func(p paper) bool { return slices.Contains(values(&p), value) && fits(&p) })
			},
		}
	}
}

func newest(def string, spec timeline.Spec[paper]) sight {
	return func(p *papers) asked {
		spec := spec
		spec.Name, spec.Def = "Newest", def
		want := func(tr *ledger) []string { return tr.moved }
		if spec.Value == nil {
			spec.Value = func(p *paper) string { return timeline.Text(p.Text) }
		} else {
			want = func(tr *ledger) (ids []string) {
				ids = slices.Sorted(maps.Keys(tr.all))
				slices.Reverse(ids)
				return ids
			}
		}
		ring := timeline.NewRing(p, spec)
		const shown = 12
		return asked{
			show: func(ctx context.Context) ([]string, error) {
				l, err := ring.Page(ctx, "", shown)
				return idsOf(l.Items), err
			},
			want: func(tr *ledger) []string { return want(tr)[:min(shown, len(tr.all))] },
		}
	}
}

func news(spec timeline.EventsSpec[paper, string]) sight {
	return func(p *papers) asked {
		spec := spec
		spec.Name, spec.Key, spec.Codec = "News", kvmodel.StringKey[string](), fieldsCodec{}
		spec.By = func(*paper) string { return "all" }
		events := timeline.NewEvents(p.DB(), spec)
		const shown = 10
		return asked{
			made: func(ctx context.Context, p paper) error { return events.Push(ctx, p) },
			show: func(ctx context.Context) (ids []string, err error) {
				all, err := events.Latest(ctx, "all", shown)
				for _, p := range all {
					ids = append(ids, p.ID)
				}
				return ids, err
			},
			want: func(tr *ledger) (ids []string) {
				for i := range min(shown, tr.made) {
					ids = append(ids, fmt.Sprintf("p%03d", tr.made-1-i))
				}
				return ids
			},
		}
	}
}

func top(spec ranking.Spec[paper, int64]) sight {
	return func(p *papers) asked {
		spec.Name, spec.Def, spec.Of = "TopScore", "ranking Score int", ranking.Int[int64]()
		spec.Score = func(p *paper) int64 { return p.Score }
		return scored(ranking.NewBoard(p, spec).Page, spec.Low, func(p paper) (int64, bool) { return p.Score, true })
	}
}

type papersPage func(ctx context.Context, cursor string, n int, keep ...func(*paper) bool) (kvmodel.Listing[paper], error)

func scored(page papersPage, low bool, score func(paper) (int64, bool)) asked {
	return asked{
		show: func(ctx context.Context) (scores []string, err error) {
			l, err := page(ctx, "", 20)
			for _, p := range l.Items {
				n, _ := score(*p)
				scores = append(scores, fmt.Sprint(n))
			}
			return scores, err
		},
		want: func(tr *ledger) []string { return first(20, tr, low, score) },
	}
}

func bornAt(p *paper) time.Time {
	n, _ := strconv.Atoi(strings.TrimPrefix(p.ID, "p"))
	return time.Unix(int64(n), 0)
}

func tied(ties ranking.Ties) sight {
	return func(p *papers) asked {
		spec := ranking.Spec[paper, int64]{
			Name: "TopScore", Def: "ranking Score int ties newer", Of: ranking.Int[int64](),
			Score: func(p *paper) int64 { return p.Score / 30 }, Ties: ties, Made: bornAt,
		}
		if ties == ranking.Dense {
			spec.Def = "ranking Score int ties dense"
		}
		board := ranking.NewBoard(p, spec)
		return asked{
			show: func(ctx context.Context) (shown []string, err error) {
				table, err := board.Table(ctx, "", 20)
				for _, p := range table.Places {
					shown = append(shown, fmt.Sprint(p.Rank, " ", p.Item.ID))
					if ties == ranking.Dense {
						shown[len(shown)-1] = fmt.Sprint(p.Rank, " ", p.Score)
					}
				}
				return shown, err
			},
			want: func(tr *ledger) (shown []string) {
				all := slices.SortedFunc(maps.Values(tr.all), func(a, b paper) int {
					return cmp.Or(cmp.Compare(b.Score/30, a.Score/30), bornAt(&b).Compare(bornAt(&a)))
				})
				rank := 0
				for i, p := range all[:min(20, len(all))] {
					if ties != ranking.Dense {
						shown = append(shown, fmt.Sprint(i+1, " ", p.ID))
						continue
					}
					if i == 0 || all[i-1].Score/30 != p.Score/30 {
						rank++
					}
					shown = append(shown, fmt.Sprint(rank, " ", p.Score/30))
				}
				return shown
			},
		}
	}
}

var coded = listed("list Code string", "Code", "c1", func(p *paper) []string { return []string{p.Code[:2]} }, func(*paper) bool { return true })

func topByTag(p *papers) asked {
	boards := ranking.NewBoards(p, ranking.Spec[paper, int64]{
		Name: "TopScore", Def: "ranking Score int by Tags string", Of: ranking.Int[int64](), Score: func(p *paper) int64 { return p.Score },
	}, kvmodel.By[paper, string]{Key: kvmodel.StringKey[string](), Value: func(p *paper) string { return p.Tags[0] }})
	return scored(boards.Of("red").Page, false, func(p paper) (int64, bool) { return p.Score, p.Tags[0] == "red" })
}

func grades(scale int) sight {
	return func(p *papers) asked {
		board := ranking.NewBoard(p, ranking.Spec[paper, float64]{
			Name: "TopGrade", Def: fmt.Sprint("ranking Grade decimal ", scale), Of: ranking.Decimal[float64](scale),
			Score: func(p *paper) float64 { return float64(p.Score) / 4 },
		})
		return scored(board.Page, false, func(p paper) (int64, bool) { return p.Score / 2, true })
	}
}

func first(n int, tr *ledger, low bool, of func(paper) (int64, bool)) (texts []string) {
	var all []int64
	for _, p := range tr.all {
		if n, ok := of(p); ok {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	if !low {
		slices.Reverse(all)
	}
	for _, n := range all[:min(n, len(all))] {
		texts = append(texts, fmt.Sprint(n))
	}
	return texts
}

func past(p *papers) asked {
	h := kvmodel.NewHistory(p)
	const shown = 3
	return asked{
		show: func(ctx context.Context) (all []string, err error) {
			for rec, err := range p.All(ctx) {
				if err != nil {
					return nil, err
				}
				revisions, err := h.Of(ctx, rec.ID, shown)
				if err != nil {
					return nil, err
				}
				text := rec.ID
				for _, r := range revisions {
					text += " " + r.Item.Code
				}
				all = append(all, text)
			}
			slices.Sort(all)
			return all, nil
		},
		want: func(tr *ledger) (all []string) {
			for _, id := range slices.Sorted(maps.Keys(tr.all)) {
				bodies := tr.past(id)
				all = append(all, strings.Join(append([]string{id}, bodies[:min(shown, len(bodies))]...), " "))
			}
			return all
		},
	}
}

func viewed(spec ranking.Spec[paper, int64]) sight {
	return func(p *papers) asked {
		spec := spec
		spec.Name, spec.Def, spec.Of = "TopViews", "ranking Views int counted", ranking.Int[int64]()
		spec.Counter = p.DB().Tally("Paper", "Views")
		switch {
		case spec.Per != ranking.Forever:
			spec.Name, spec.Def = "TopViewsPerHour", "ranking Views int counted per hour"
		case spec.Ties == ranking.Newest:
			spec.Def, spec.Made = spec.Def+" ties newer", bornAt
		}
		board := ranking.NewBoard(p, spec)
		return asked{
			show: func(ctx context.Context) (all []string, err error) {
				l, err := board.Table(ctx, "", 30)
				for _, p := range l.Places {
					all = append(all, fmt.Sprint(p.Score))
				}
				return all, err
			},
			want: func(tr *ledger) []string {
				return first(30, tr, false, func(p paper) (int64, bool) {
					n := p.Views
					if spec.Per != ranking.Forever {
						n = tr.hours[p.ID]
					}
					return n, n > 0
				})
			},
		}
	}
}

type shelf struct {
	Tag    string
	Papers int64 `json:"-"`
}

type shelfCodec struct{}

func (shelfCodec) Append(dst []byte, v *shelf) ([]byte, error) { return append(dst, v.Tag...), nil }
func (shelfCodec) Merge(_, next []byte) ([]byte, error)        { return next, nil }
func (shelfCodec) Unmarshal(data []byte, v *shelf) (bool, error) {
	v.Tag = string(data)
	return false, nil
}

func shelvesOf(p *papers, counters ...kvmodel.CounterOf[shelf]) *kvmodel.Records[shelf, string] {
	return kvmodel.NewRecords(p.DB(), kvmodel.Schema[shelf, string]{
		Name: "Shelf", Version: 1, Key: kvmodel.StringKey[string](), Codec: shelfCodec{}, Counters: counters,
		ID: func(v *shelf) string { return v.Tag }, SetID: func(v *shelf, tag string) { v.Tag = tag },
	})
}

func shelves(p *papers) asked {
	records := shelvesOf(p)
	made := map[string]bool{}
	return asked{
		made: func(ctx context.Context, p paper) error {
			made[p.ID] = true
			return records.Create(ctx, &shelf{Tag: p.ID})
		},
		show: func(ctx context.Context) (tags []string, err error) {
			for rec, err := range records.All(ctx) {
				if err != nil {
					return nil, err
				}
				if made[rec.Tag] {
					tags = append(tags, rec.Tag)
				}
			}
			slices.Sort(tags)
			return tags, nil
		},
		want: func(*ledger) []string { return slices.Sorted(maps.Keys(made)) },
	}
}

func counted(p *papers) asked {
	return numbered(p, kvmodel.CounterOf[shelf]{Derived: true}, index.Counted("Shelf", "Papers"), func(paper) int64 { return 1 })
}

func summed(p *papers) asked {
	score := func(p *paper) int64 { return p.Score }
	return numbered(p, kvmodel.CounterOf[shelf]{Derived: true, Sum: true}, index.Summed("Shelf", "Papers", "Score", score), func(p paper) int64 { return p.Score })
}

func numbered(p *papers, counter kvmodel.CounterOf[shelf], follows index.ListOption, share func(paper) int64) asked {
	counter.Name, counter.Set = "Papers", func(v *shelf, n int64) { v.Papers = n }
	shelves := shelvesOf(p, counter)
	list := tagged("list Tags string each", false, follows)(p)
	return asked{
		made: func(ctx context.Context, _ paper) error {
			err := shelves.Create(ctx, &shelf{Tag: "red"})
			if errors.Is(err, kvmodel.ErrExists) {
				return nil
			}
			return err
		},
		show: func(ctx context.Context) ([]string, error) {
			v, err := shelves.Get(ctx, "red")
			if err != nil {
				return nil, err
			}
			ids, err := list.show(ctx)
			return append(ids, fmt.Sprint(v.Papers)), err
		},
		want: func(tr *ledger) []string {
			ids, n := list.want(tr), int64(0)
			for _, id := range ids {
				n += share(tr.all[id])
			}
			return append(ids, fmt.Sprint(n))
		},
	}
}
