package after

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

const (
	id, slug, ann, tag, title = "p07", "slug07", "ann", "go", "On trees"
	pages                     = 3
)

var (
	begun    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	from, to = begun.Add(10 * time.Minute), begun.Add(20 * time.Minute)
)

// Reads and Writes are the code in the tables, by the first cells of their rows. Results are in the
// form of package before.
var Reads = map[string]func(ctx context.Context, m *Models) (any, error){
	"SELECT … WHERE id = ?": func(ctx context.Context, m *Models) (any, error) {
		post, err := m.Posts.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		return post.Slug, nil
	},
	"WHERE id IN ?": func(ctx context.Context, m *Models) (any, error) {
		ids := []string{"p03", "p09"}
		posts, err := m.Posts.GetMulti(ctx, ids)
		return slugs(posts), err
	},
	"WHERE slug = ? (UNIQUE)": func(ctx context.Context, m *Models) (any, error) {
		post, err := m.Posts.BySlug.Find(ctx, slug)
		if err != nil {
			return nil, err
		}
		return post.ID, nil
	},
	"WHERE author = ? AND status = ?": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.ByAuthorStatus.Of(AuthorStatus{ann, "draft"}).Page(ctx, "", 20)
		return len(page.Items), err
	},
	"WHERE title LIKE '%trees%'": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.ByWords.Of("trees").Page(ctx, "", 20)
		return len(page.Items), err
	},
	"JOIN tags … WHERE tag = ?": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.ByTags.Of(tag).Page(ctx, "", 20)
		return len(page.Items), err
	},
	"EXISTS": func(ctx context.Context, m *Models) (any, error) {
		like, err := m.Likes.Get(ctx, LikeID{ann, id})
		if err != nil {
			return nil, err
		}
		return like.User, nil
	},
	"the author of each (N+1)": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.Newest.Page(ctx, "", 20)
		if err != nil {
			return nil, err
		}
		users, err := kvmodel.Load(ctx, m.Users.Records, page.Items, func(p *Post) string { return p.Author })
		if err != nil {
			return nil, err
		}
		return users[page.Items[0].Author].Name, nil
	},

	"ORDER BY made DESC LIMIT 20": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.Newest.Page(ctx, "", 20)
		return slugs(page.Items), err
	},
	"… OFFSET 20": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.Newest.Page(unmetered(ctx), "", 20)
		if err != nil {
			return nil, err
		}
		page, err = m.Posts.Newest.Page(ctx, page.Next, 20)
		return slugs(page.Items), err
	},
	"WHERE author = ? ORDER BY made DESC": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.NewestByAuthor.Of(ann).Page(ctx, "", 20)
		return slugs(page.Items), err
	},
	"page 3, and how many pages": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.Archive.Numbered(ctx, 3, 20)
		return fmt.Sprint(slugs(page.Items), page.Pages), err
	},
	"WHERE made BETWEEN ? AND ?": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.Archive.Between(from, to).Page(ctx, "", 20)
		return slugs(page.Items), err
	},
	"ORDER BY views DESC": func(ctx context.Context, m *Models) (any, error) {
		page, err := m.Posts.TopViews.Page(ctx, "", 20)
		return slugs(page.Items), err
	},
	"RANK() OVER (ORDER BY views DESC)": func(ctx context.Context, m *Models) (any, error) {
		rank, err := m.Posts.TopViews.Rank(ctx, id)
		return rank, err
	},

	"COUNT(*)": func(ctx context.Context, m *Models) (any, error) {
		n, err := m.Posts.Count(ctx)
		return n, err
	},
	"COUNT(*) … WHERE post = ?": func(ctx context.Context, m *Models) (any, error) {
		n, err := m.Posts.Likes.Get(ctx, id)
		return n, err
	},
	"GROUP BY tag ORDER BY COUNT(*) DESC": func(ctx context.Context, m *Models) (any, error) {
		cloud, err := m.Posts.ByTags.Values.Page(ctx, "", 20)
		counts := []any{}
		for _, v := range cloud.Items {
			counts = append(counts, *v)
		}
		return fmt.Sprint(counts), err
	},
	"SELECT DISTINCT tag": func(ctx context.Context, m *Models) (any, error) {
		words, err := m.Posts.ByTags.Values.Words(ctx, "", 20)
		tags := []string{}
		for _, v := range words.Items {
			tags = append(tags, v.Value)
		}
		return fmt.Sprint(tags), err
	},
	"every row": func(ctx context.Context, m *Models) (any, error) {
		n := 0
		err := m.Posts.Each(ctx, kvmodel.Walk{}, func(*Post) error { n++; return nil })
		return n, err
	},
}

var Writes = map[string]func(ctx context.Context, m *Models) (any, error){
	"INSERT": func(ctx context.Context, m *Models) (any, error) {
		post := Post{ID: "new", Slug: "new", Title: title, Author: ann, Made: begun, Tags: []string{tag}}
		err := m.Posts.Create(ctx, &post)
		return post.ID, err
	},
	"INSERT, the value is taken": func(ctx context.Context, m *Models) (any, error) {
		post := Post{ID: "new", Slug: slug, Author: ann, Made: begun}
		err := m.Posts.Create(ctx, &post)
		if !errors.Is(err, kvmodel.ErrExists) {
			return nil, fmt.Errorf("unexpected error: %w", err)
		}
		return "taken", nil
	},
	"INSERT of 100": func(ctx context.Context, m *Models) (any, error) {
		users := make([]*User, 100)
		for i := range users {
			users[i] = &User{ID: fmt.Sprint("u", i), Name: fmt.Sprint("name", i)}
		}
		err := m.Users.CreateMulti(ctx, users)
		return len(users), err
	},
	"UPDATE SET title = ?": func(ctx context.Context, m *Models) (any, error) {
		post, err := m.Posts.Update(ctx, id, func(p *Post) error { p.Title = title; return nil })
		if err != nil {
			return nil, err
		}
		return post.Title, nil
	},
	"… WHERE version = ?": func(ctx context.Context, m *Models) (any, error) {
		post, err := m.Posts.Get(unmetered(ctx), id)
		if err != nil {
			return nil, err
		}
		post.Title = title
		err = m.Posts.Put(ctx, post)
		return !errors.Is(err, kvmodel.ErrConflict), err
	},
	"SET views = views + 1": func(ctx context.Context, m *Models) (any, error) {
		_, err := m.Posts.Views.Hit(ctx, id)
		return 1, err
	},
	"ON CONFLICT DO UPDATE": func(ctx context.Context, m *Models) (any, error) {
		user := User{ID: ann, Name: "Anne"}
		err := m.Users.Put(ctx, &user)
		return user.Name, err
	},
	"a like, and the number of likes": func(ctx context.Context, m *Models) (any, error) {
		err := m.Likes.Create(ctx, &Like{User: ann, Post: "p09"})
		return "liked", err
	},
	"DELETE … CASCADE": func(ctx context.Context, m *Models) (any, error) {
		err := m.Posts.Delete(ctx, id)
		return "deleted", err
	},
	"soft delete": func(ctx context.Context, m *Models) (any, error) {
		_, err := m.Users.Update(ctx, ann, func(u *User) error { u.Removed = time.Now(); return nil })
		return "removed", err
	},
}

// unmetered is for data from an earlier request.
func unmetered(ctx context.Context) context.Context {
	ctx, _ = kvmodel.Metered(ctx)
	return ctx
}

func slugs(posts []*Post) (all []string) {
	for _, p := range posts {
		all = append(all, p.Slug)
	}
	return all
}

func Fill(ctx context.Context, m *Models) error {
	err := m.Users.CreateMulti(ctx, []*User{{ID: ann, Name: "Ann"}, {ID: "bob", Name: "Bob"}})
	for i := range 20 * pages {
		err = errors.Join(err, add(ctx, m, i))
	}
	return errors.Join(err,
		m.Likes.CreateMulti(ctx, []*Like{{ann, id}, {"bob", id}}),
		m.Comments.Create(ctx, &Comment{ID: "c1", Post: id, Text: "Fine."}))
}

func add(ctx context.Context, m *Models, i int) error {
	p := &Post{
		ID: fmt.Sprintf("p%02d", i), Slug: fmt.Sprintf("slug%02d", i), Title: "On rings", Author: ann, Status: "public",
		Made: begun.Add(time.Duration(i) * time.Minute), Tags: []string{tag},
	}
	if i%2 == 1 {
		p.Author = "bob"
	}
	if i%3 == 0 {
		p.Status, p.Title, p.Tags = "draft", title, append(p.Tags, "trees")
	}
	if err := m.Posts.Create(ctx, p); err != nil {
		return err
	}
	_, err := m.Posts.Views.Add(ctx, p.ID, int64(i*7%61+1))
	return err
}

// Another creates one more post, so that listings change.
func Another(ctx context.Context, m *Models) error { return add(ctx, m, 20*pages) }
