package peers

import (
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// rueidisPeer stores a page as a value, and each order as a sorted set. The views are the scores of
// one. Nothing protects against concurrent changes of a page, or a crash between two commands.
type rueidisPeer struct{ rueidis.Client }

func openRueidis(_ context.Context, at place.Place) (Peer, error) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{at.Redis}, SelectDB: 1, DisableCache: true})
	return rueidisPeer{client}, err
}

const (
	byUpdate = "pages:updated"
	byViews  = "pages:views"
)

func number(n int64) string        { return strconv.FormatInt(n, 10) }
func pageKey(id string) string     { return "page:" + id }
func slugKey(slug string) string   { return "slug:" + slug }
func visitsKey(owner int64) string { return "visits:" + number(owner) }
func topicKey(topic int64) string  { return "topic:" + number(topic) }

func (r rueidisPeer) all(ctx context.Context, commands ...rueidis.Completed) error {
	for _, answer := range r.DoMulti(ctx, commands...) {
		if err := answer.Error(); err != nil {
			return err
		}
	}
	return nil
}

func (r rueidisPeer) set(p *Page) ([]rueidis.Completed, error) {
	data, err := msgpack.Marshal(p)
	id := number(p.ID)
	return []rueidis.Completed{
		r.B().Set().Key(pageKey(id)).Value(rueidis.BinaryString(data)).Build(),
		r.B().Zadd().Key(byUpdate).ScoreMember().ScoreMember(float64(p.UpdatedAt.UnixMicro()), id).Build(),
	}, err
}

func (r rueidisPeer) addViews(p *Page) rueidis.Completed {
	return r.B().Zadd().Key(byViews).ScoreMember().ScoreMember(float64(p.Views), number(p.ID)).Build()
}

func (r rueidisPeer) Load(ctx context.Context, n int) error {
	for ps := range batches(n, 500) {
		var commands []rueidis.Completed
		for i := range ps {
			set, err := r.set(&ps[i])
			if err != nil {
				return err
			}
			commands = append(append(commands, set...), r.addViews(&ps[i]),
				r.B().Set().Key(slugKey(ps[i].Slug)).Value(number(ps[i].ID)).Build())
		}
		if err := r.all(ctx, commands...); err != nil {
			return err
		}
	}
	commands := []rueidis.Completed{r.B().Set().Key("pages:last").Value(strconv.Itoa(n)).Build()}
	for owner, visits := range owners() {
		for _, v := range visits {
			commands = append(commands, r.visit(owner, v)...)
		}
	}
	for user := range followers() {
		commands = append(commands, r.B().Sadd().Key(topicKey(Topic)).Member(number(user)).Build())
	}
	return r.all(ctx, commands...)
}

func (r rueidisPeer) Close() error { r.Client.Close(); return nil }

func decodePage(answer rueidis.RedisMessage, views float64) (*Page, error) {
	data, err := answer.AsBytes()
	if err != nil {
		return nil, err
	}
	p := new(Page)
	err = msgpack.Unmarshal(data, p)
	p.Views = int64(views)
	return p, err
}

func (r rueidisPeer) Get(ctx context.Context, id int64) (Row, error) {
	both := r.DoMulti(ctx, r.B().Get().Key(pageKey(number(id))).Build(), r.B().Zscore().Key(byViews).Member(number(id)).Build())
	views, err := both[1].AsFloat64()
	if err != nil {
		return nil, err
	}
	page, err := both[0].ToMessage()
	if err != nil {
		return nil, err
	}
	return decodePage(page, views)
}

func decodePages(answer rueidis.RedisResult, views func(i int) (float64, error)) ([]Row, error) {
	values, err := answer.ToArray()
	if err != nil {
		return nil, err
	}
	all := make([]Row, len(values))
	for i, value := range values {
		score, err := views(i)
		if err != nil {
			return nil, err
		}
		if all[i], err = decodePage(value, score); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r rueidisPeer) Newest(ctx context.Context, at string, limit int) ([]Row, error) {
	from := "+inf"
	if at != "" {
		from = "(" + at
	}
	ids, err := r.Do(ctx, r.B().Zrevrangebyscore().Key(byUpdate).Max(from).Min("-inf").Limit(0, int64(limit)).Build()).AsStrSlice()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	keys := kv.Texts(ids, pageKey)
	both := r.DoMulti(ctx, r.B().Mget().Key(keys...).Build(), r.B().Zmscore().Key(byViews).Member(ids...).Build())
	scores, err := both[1].ToArray()
	if err != nil {
		return nil, err
	}
	return decodePages(both[0], func(i int) (float64, error) { return scores[i].AsFloat64() })
}

func (r rueidisPeer) Link(ctx context.Context, offset int) (string, error) {
	last := int64(offset) - 1
	found, err := r.Do(ctx, r.B().Zrevrange().Key(byUpdate).Start(last).Stop(last).Withscores().Build()).AsZScores()
	if err != nil {
		return "", err
	}
	return number(int64(found[0].Score)), nil
}

func (r rueidisPeer) Top(ctx context.Context, limit int) ([]Row, error) {
	top, err := r.Do(ctx, r.B().Zrevrange().Key(byViews).Start(0).Stop(int64(limit)-1).Withscores().Build()).AsZScores()
	if err != nil || len(top) == 0 {
		return nil, err
	}
	keys := kv.Texts(top, func(z rueidis.ZScore) string { return pageKey(z.Member) })
	return decodePages(r.Do(ctx, r.B().Mget().Key(keys...).Build()), func(i int) (float64, error) { return top[i].Score, nil })
}

func (r rueidisPeer) Rank(ctx context.Context, id int64) (int, error) {
	above, err := r.Do(ctx, r.B().Zrevrank().Key(byViews).Member(number(id)).Build()).AsInt64()
	return int(above) + 1, err
}

func (r rueidisPeer) Update(ctx context.Context, id int64, body string) error {
	page, err := r.Do(ctx, r.B().Get().Key(pageKey(number(id))).Build()).ToMessage()
	if err != nil {
		return err
	}
	p, err := decodePage(page, 0)
	if err != nil {
		return err
	}
	p.Body, p.UpdatedAt = body, time.Now().UTC()
	commands, err := r.set(p)
	if err != nil {
		return err
	}
	return r.all(ctx, commands...)
}

func (r rueidisPeer) View(ctx context.Context, id int64) error {
	return r.Do(ctx, r.B().Zincrby().Key(byViews).Increment(1).Member(number(id)).Build()).Error()
}

func (r rueidisPeer) Insert(ctx context.Context, p *Page) error {
	id, err := r.Do(ctx, r.B().Incr().Key("pages:last").Build()).AsInt64()
	if err != nil {
		return err
	}
	p.ID = id
	err = r.Do(ctx, r.B().Set().Key(slugKey(p.Slug)).Value(number(id)).Nx().Build()).Error()
	if rueidis.IsRedisNil(err) {
		return ErrTaken
	}
	if err != nil {
		return err
	}
	commands, err := r.set(p)
	if err != nil {
		return err
	}
	return r.all(ctx, append(commands, r.addViews(p))...)
}

func (r rueidisPeer) visit(owner int64, v Visit) []rueidis.Completed {
	return []rueidis.Completed{
		r.B().Zadd().Key(visitsKey(owner)).ScoreMember().ScoreMember(float64(v.At), number(v.Visitor)).Build(),
		r.B().Zremrangebyrank().Key(visitsKey(owner)).Start(0).Stop(-Kept - 1).Build(),
	}
}

func (r rueidisPeer) Visit(ctx context.Context, owner int64, v Visit) error {
	return r.all(ctx, r.visit(owner, v)...)
}

func (r rueidisPeer) Visits(ctx context.Context, owner int64, limit int) ([]Visit, error) {
	found, err := r.Do(ctx, r.B().Zrevrange().Key(visitsKey(owner)).Start(0).Stop(int64(limit)-1).Withscores().Build()).AsZScores()
	if err != nil {
		return nil, err
	}
	all := make([]Visit, len(found))
	for i, z := range found {
		all[i].At = int64(z.Score)
		if all[i].Visitor, err = strconv.ParseInt(z.Member, 10, 64); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (r rueidisPeer) Follow(ctx context.Context, topic, user int64) error {
	return r.Do(ctx, r.B().Sadd().Key(topicKey(topic)).Member(number(user)).Build()).Error()
}

func (r rueidisPeer) Unfollow(ctx context.Context, topic, user int64) error {
	return r.Do(ctx, r.B().Srem().Key(topicKey(topic)).Member(number(user)).Build()).Error()
}

func (r rueidisPeer) Followers(ctx context.Context, topic int64, limit int) ([]int64, error) {
	members, err := r.Do(ctx, r.B().Smembers().Key(topicKey(topic)).Build()).AsStrSlice()
	if err != nil {
		return nil, err
	}
	users := make([]int64, min(len(members), limit))
	for i := range users {
		if users[i], err = strconv.ParseInt(members[i], 10, 64); err != nil {
			return nil, err
		}
	}
	return users, nil
}

func (r rueidisPeer) Flush(context.Context) error { return nil }
