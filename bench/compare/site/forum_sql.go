package site

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/forum"
)

// sqlForum is handwritten SQL, with an index for each page of the site, and the numbers of stories,
// comments and users in columns.
type sqlForum struct {
	database
	lock string // added to a query for rows to be changed
}

// SQLite has one writer, so only PostgreSQL locks the rows that it reads to change them.
func forumOnPgx(d database) Forum    { return sqlForum{d, " FOR UPDATE"} }
func forumOnSQLite(d database) Forum { return sqlForum{d, ""} }

const forumSchema = `
CREATE TABLE users (id SERIAL, name text NOT NULL UNIQUE, about text NOT NULL, looked bigint NOT NULL, karma bigint NOT NULL);
CREATE TABLE mutes (user_id bigint, tag text, PRIMARY KEY (user_id, tag));
CREATE TABLE stories (id SERIAL, url text UNIQUE, title text NOT NULL, text text NOT NULL, author bigint NOT NULL, tags text NOT NULL, made bigint NOT NULL,
	comments bigint NOT NULL, votes bigint NOT NULL, score bigint NOT NULL, heat double precision NOT NULL);
CREATE INDEX stories_by_author ON stories (author, id);
CREATE INDEX stories_by_heat ON stories (heat);
CREATE TABLE story_tags (story bigint, tag text, PRIMARY KEY (story, tag));
CREATE INDEX story_tags_by_tag ON story_tags (tag, story);
CREATE TABLE story_words (word text, story bigint, PRIMARY KEY (word, story));
CREATE TABLE comments (id SERIAL, story bigint NOT NULL, parent bigint, author bigint NOT NULL, to_user bigint, text text NOT NULL, made bigint NOT NULL,
	votes bigint NOT NULL, score bigint NOT NULL);
CREATE INDEX comments_by_story ON comments (story);
CREATE INDEX comments_by_author ON comments (author, id);
CREATE INDEX comments_by_to_user ON comments (to_user, made);
CREATE TABLE story_votes (user_id bigint, item bigint, value bigint NOT NULL, PRIMARY KEY (user_id, item));
CREATE INDEX story_votes_by_item ON story_votes (item);
CREATE TABLE comment_votes (user_id bigint, item bigint, value bigint NOT NULL, PRIMARY KEY (user_id, item));
CREATE INDEX comment_votes_by_item ON comment_votes (item);
CREATE TABLE saves (user_id bigint, story bigint, made bigint NOT NULL, PRIMARY KEY (user_id, story));
CREATE INDEX saves_by_story ON saves (story);
CREATE INDEX saves_by_made ON saves (user_id, made);
CREATE TABLE hides (user_id bigint, story bigint, PRIMARY KEY (user_id, story));
CREATE INDEX hides_by_story ON hides (story);
`

func (s sqlForum) Load(ctx context.Context, d *Threads) error {
	stories, comments, karma := d.count()
	var words [][]any
	for i := range d.Stories {
		for _, word := range wordsOf(headline(i)) {
			words = append(words, []any{word, i + 1})
		}
	}
	votes := func(onComments bool) func(int) []any {
		return func(i int) []any {
			v := d.Votes[i]
			switch {
			case onComments != (v.Comment >= 0):
				return nil
			case onComments:
				return []any{v.User + 1, v.Comment + 1, v.Value}
			}
			return []any{v.User + 1, v.Story + 1, v.Value}
		}
	}
	ballot := "user_id item value"
	return s.load(ctx, forumSchema,
		place.NewTable("users", "id name about looked karma", d.Users, func(i int) []any {
			return []any{i + 1, Username(i), bio(i), spoken(len(d.Comments) * 9 / 10).UnixMicro(), karma[i]}
		}),
		place.NewTable("mutes", "user_id tag", d.Users, func(i int) []any {
			if d.Muted[i] < 0 {
				return nil
			}
			return []any{i + 1, Tag(d.Muted[i])}
		}),
		place.NewTable("stories", "id url title text author tags made comments votes score heat", len(d.Stories), func(i int) []any {
			p, n := d.Stories[i], stories[i]
			return []any{i + 1, link(i), headline(i), "", p.Author + 1, strings.Join(p.tags(), ","), submitted(i).UnixMicro(), n.comments, n.votes, n.score, heat(n.score, submitted(i))}
		}),
		place.NewTable("story_tags", "story tag", 2*len(d.Stories), func(i int) []any { return []any{i/2 + 1, Tag(d.Stories[i/2].Tags[i%2])} }),
		place.NewTable("story_words", "word story", len(words), func(i int) []any { return words[i] }),
		place.NewTable("comments", "id story parent author to_user text made votes score", len(d.Comments), func(i int) []any {
			c, n := d.Comments[i], comments[i]
			return []any{i + 1, c.Story + 1, orNull(c.Parent), c.Author + 1, orNull(d.to(c)), remark(i), spoken(i).UnixMicro(), n.votes, n.score}
		}),
		place.NewTable("story_votes", ballot, len(d.Votes), votes(false)),
		place.NewTable("comment_votes", ballot, len(d.Votes), votes(true)),
		place.NewTable("saves", "user_id story made", len(d.Saves), func(i int) []any {
			return []any{d.Saves[i][0] + 1, d.Saves[i][1] + 1, spoken(i).UnixMicro()}
		}),
		pairsOf("hides", "user_id story", d.Hides),
	)
}

func wordsOf(title string) []string {
	words := strings.Fields(strings.ToLower(title))
	slices.Sort(words)
	return slices.Compact(words)
}

func (s sqlForum) Close() error                { return s.close() }
func (s sqlForum) Flush(context.Context) error { return nil }

func orNull(n int) any {
	if n < 0 {
		return nil
	}
	return n + 1
}

func heat(score int64, made time.Time) float64 {
	return (&forum.Story{Score: score, Made: made}).Heat()
}

const (
	onStory    = `s.id, COALESCE(s.url, ''), s.title, s.text, su.name, s.tags, s.made, s.comments, s.votes, s.score`
	storyViews = `SELECT ` + onStory + `, COALESCE(v.value, 0), EXISTS (SELECT 1 FROM saves WHERE user_id = $1 AND story = s.id)
		FROM stories s JOIN users su ON su.id = s.author LEFT JOIN story_votes v ON v.user_id = $1 AND v.item = s.id `

	commentColumns = `SELECT c.id, COALESCE(c.parent, 0), cu.name, c.text, c.made, c.votes, c.score, COALESCE(v.value, 0)`
	commentTables  = ` FROM comments c JOIN users cu ON cu.id = c.author LEFT JOIN comment_votes v ON v.user_id = $1 AND v.item = c.id `
	commentViews   = commentColumns + `, ` + onStory + commentTables + `JOIN stories s ON s.id = c.story JOIN users su ON su.id = s.author `
)

type storyRow struct {
	forum.Story
	id, made int64
	tags     string
}

func (r *storyRow) into() []any {
	return []any{&r.id, &r.URL, &r.Title, &r.Text, &r.Author, &r.tags, &r.made, &r.Comments, &r.Votes, &r.Score}
}

func (r *storyRow) story() *forum.Story {
	r.ID, r.Made, r.Tags = strconv.FormatInt(r.id, 10), time.UnixMicro(r.made).UTC(), strings.Split(r.tags, ",")
	return &r.Story
}

func stories(p *forum.Page, reader int, where string, args ...any) query {
	return query{storyViews + where, append([]any{of(reader)}, args...), func(scan func(...any) error) error {
		var r storyRow
		var v forum.StoryView
		if err := scan(append(r.into(), &v.Vote, &v.Saved)...); err != nil {
			return err
		}
		v.Story = r.story()
		p.Stories = append(p.Stories, v)
		return nil
	}}
}

type commentRow struct {
	forum.Comment
	id, parent, made, vote int64
}

func (r *commentRow) into() []any {
	return []any{&r.id, &r.parent, &r.Author, &r.Text, &r.made, &r.Votes, &r.Score, &r.vote}
}

func (r *commentRow) view() forum.CommentView {
	r.ID, r.Made = strconv.FormatInt(r.id, 10), time.UnixMicro(r.made).UTC()
	return forum.CommentView{Comment: &r.Comment, Vote: r.vote}
}

func remarks(p *forum.Page, reader int, where string, args ...any) query {
	return query{commentViews + where, append([]any{of(reader)}, args...), func(scan func(...any) error) error {
		var r commentRow
		var on storyRow
		if err := scan(append(r.into(), on.into()...)...); err != nil {
			return err
		}
		v := r.view()
		v.On = on.story()
		p.Comments = append(p.Comments, v)
		return nil
	}}
}

// page reads a page and the number of unread replies.
func (s sqlForum) page(ctx context.Context, reader int, p *forum.Page, queries ...query) (*forum.Page, error) {
	if reader >= 0 {
		queries = append(queries, query{"SELECT count(*) FROM comments WHERE to_user = $1 AND made >= (SELECT looked FROM users WHERE id = $1)",
			[]any{of(reader)}, func(scan func(...any) error) error { return scan(&p.Unread) }})
	}
	return p, s.read(ctx, queries...)
}

func (s sqlForum) Front(ctx context.Context, reader int) (*forum.Page, error) {
	p := new(forum.Page)
	return s.page(ctx, reader, p, stories(p, reader, `WHERE NOT EXISTS (SELECT 1 FROM hides WHERE user_id = $1 AND story = s.id)
		AND NOT EXISTS (SELECT 1 FROM mutes m JOIN story_tags t ON t.tag = m.tag WHERE m.user_id = $1 AND t.story = s.id)
		ORDER BY s.heat DESC LIMIT 30`))
}

func (s sqlForum) NewestComments(ctx context.Context, reader int) (*forum.Page, error) {
	p := new(forum.Page)
	return s.page(ctx, reader, p, remarks(p, reader, "ORDER BY c.id DESC LIMIT 30"))
}

func (s sqlForum) User(ctx context.Context, reader, user int) (*forum.Page, error) {
	p := &forum.Page{User: new(forum.User)}
	return s.page(ctx, reader, p,
		query{"SELECT name, about, karma FROM users WHERE id = $1", []any{of(user)}, func(scan func(...any) error) error {
			return scan(&p.User.Name, &p.User.About, &p.User.Karma)
		}},
		stories(p, reader, "WHERE s.author = $2 ORDER BY s.id DESC LIMIT 30", of(user)),
		remarks(p, reader, "WHERE c.author = $2 ORDER BY c.id DESC LIMIT 30", of(user)))
}

func (s sqlForum) Story(ctx context.Context, reader, story int) (*forum.Page, error) {
	p := new(forum.Page)
	var all []*commentRow
	p, err := s.page(ctx, reader, p, stories(p, reader, "WHERE s.id = $2", of(story)),
		query{commentColumns + commentTables + "WHERE c.story = $2", []any{of(reader), of(story)}, func(scan func(...any) error) error {
			r := new(commentRow)
			all = append(all, r)
			return scan(r.into()...)
		}})
	p.Comments = tree(all)
	return p, err
}

// tree returns the comments on a story from top to bottom.
func tree(all []*commentRow) (views []forum.CommentView) {
	below := map[int64][]*commentRow{}
	for _, r := range all {
		below[r.parent] = append(below[r.parent], r)
	}
	var add func(parent int64, depth int)
	add = func(parent int64, depth int) {
		here := below[parent]
		slices.SortFunc(here, func(a, b *commentRow) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.made, b.made)) })
		for _, r := range here {
			v := r.view()
			v.Depth = depth
			views = append(views, v)
			add(r.id, depth+1)
		}
	}
	add(0, 0)
	return views
}

func (s sqlForum) VoteStory(ctx context.Context, reader, story int, value int64) error {
	return s.vote(ctx, "stories", "story_votes", of(reader), of(story), value)
}

func (s sqlForum) VoteComment(ctx context.Context, reader, comment int, value int64) error {
	return s.vote(ctx, "comments", "comment_votes", of(reader), of(comment), value)
}

// vote sets a vote, 0 for none, and the numbers that follow from it.
func (s sqlForum) vote(ctx context.Context, items, votes string, reader, item, value int64) error {
	return s.change(ctx, func(tx transaction) error {
		var author, made, score, before int64
		if _, err := tx.get(ctx, "SELECT author, made, score FROM "+items+" WHERE id = $1"+s.lock, []any{item}, &author, &made, &score); err != nil {
			return err
		}
		if author == reader {
			return forum.ErrOwn
		}
		voted, err := tx.get(ctx, "SELECT value FROM "+votes+" WHERE user_id = $1 AND item = $2", []any{reader, item}, &before)
		if err != nil || before == value {
			return err
		}
		more := int64(0)
		if value == 0 {
			more = -1
			_, err = tx.exec(ctx, "DELETE FROM "+votes+" WHERE user_id = $1 AND item = $2", reader, item)
		} else {
			if !voted {
				more = 1
			}
			_, err = tx.exec(ctx, "INSERT INTO "+votes+" VALUES ($1, $2, $3) ON CONFLICT (user_id, item) DO UPDATE SET value = excluded.value", reader, item, value)
		}
		if err != nil {
			return err
		}
		score += value - before
		if items == "stories" {
			_, err = tx.exec(ctx, "UPDATE stories SET score = $1, votes = votes + $2, heat = $3 WHERE id = $4", score, more, heat(score, time.UnixMicro(made)), item)
		} else {
			_, err = tx.exec(ctx, "UPDATE comments SET score = $1, votes = votes + $2 WHERE id = $3", score, more, item)
		}
		if err == nil {
			_, err = tx.exec(ctx, "UPDATE users SET karma = karma + $1 WHERE id = $2", value-before, author)
		}
		return err
	})
}

func (s sqlForum) Comment(ctx context.Context, reader, story, parent int, text string) error {
	now := time.Now().UnixMicro()
	to, on := "SELECT author FROM stories WHERE id = $1", of(story)
	if parent >= 0 {
		to, on = "SELECT author FROM comments WHERE id = $1", of(parent)
	}
	return s.change(ctx, func(tx transaction) error {
		var author int64
		if _, err := tx.get(ctx, to, []any{on}, &author); err != nil {
			return err
		}
		answers := any(author)
		if author == of(reader) {
			answers = nil
		}
		_, err := tx.exec(ctx, "INSERT INTO comments (story, parent, author, to_user, text, made, votes, score) VALUES ($1, $2, $3, $4, $5, $6, 0, 0)",
			of(story), orNull(parent), of(reader), answers, text, now)
		if err == nil {
			_, err = tx.exec(ctx, "UPDATE stories SET comments = comments + 1 WHERE id = $1", of(story))
		}
		return err
	})
}

func (s sqlForum) Submit(ctx context.Context, reader int, n forum.NewStory) error {
	now := time.Now()
	return s.change(ctx, func(tx transaction) error {
		var id int64
		_, err := tx.get(ctx, `INSERT INTO stories (url, title, text, author, tags, made, comments, votes, score, heat)
			VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, $7) RETURNING id`,
			[]any{n.URL, n.Title, n.Text, of(reader), strings.Join(n.Tags, ","), now.UnixMicro(), heat(0, now)}, &id)
		for _, tag := range n.Tags {
			if err == nil {
				_, err = tx.exec(ctx, "INSERT INTO story_tags VALUES ($1, $2)", id, tag)
			}
		}
		for _, word := range wordsOf(n.Title) {
			if err == nil {
				_, err = tx.exec(ctx, "INSERT INTO story_words VALUES ($1, $2)", word, id)
			}
		}
		return err
	})
}
