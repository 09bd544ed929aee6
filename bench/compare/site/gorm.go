package site

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/conduit"
)

type (
	gormUser struct {
		ID                          int64
		Username, Email, Bio, Image string
	}
	gormFollow struct {
		Reader int64 `gorm:"primaryKey;autoIncrement:false"`
		Author int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	gormArticle struct {
		ID                             int64
		Slug, Title, Description, Body string
		AuthorID                       int64    `gorm:"column:author"`
		Author                         gormUser `gorm:"foreignKey:AuthorID"`
		Tags                           string
		Made, Edited, Favorites        int64
	}
	gormTag struct {
		Tag     string `gorm:"primaryKey"`
		Article int64  `gorm:"primaryKey;autoIncrement:false"`
	}
	gormFavorite struct {
		UserID  int64 `gorm:"primaryKey;autoIncrement:false"`
		Article int64 `gorm:"primaryKey;autoIncrement:false"`
	}
	gormComment struct {
		ID           int64
		Article      int64
		AuthorID     int64    `gorm:"column:author"`
		Author       gormUser `gorm:"foreignKey:AuthorID"`
		Body         string
		Made, Edited int64
	}
)

func (gormUser) TableName() string     { return "users" }
func (gormFollow) TableName() string   { return "follows" }
func (gormArticle) TableName() string  { return "articles" }
func (gormTag) TableName() string      { return "article_tags" }
func (gormFavorite) TableName() string { return "favorites" }
func (gormComment) TableName() string  { return "comments" }

// gormSite is the app in GORM, with its defaults, on the tables of sqlSite.
type gormSite struct{ place.Gorm }

func onGorm(g place.Gorm) Site { return gormSite{g} }

func (g gormSite) Load(ctx context.Context, d *Data) error { return g.Fill(ctx, schema, tablesOf(d)) }

func (g gormSite) page(ctx context.Context, viewer int, scope func(*gorm.DB) *gorm.DB) (*conduit.ArticlePage, error) {
	db := g.WithContext(ctx)
	var total int64
	if err := db.Model(&gormArticle{}).Scopes(scope).Count(&total).Error; err != nil {
		return nil, err
	}
	var found []gormArticle
	if err := db.Scopes(scope).Omit("Body").Preload("Author").Order("articles.id DESC").Limit(Shown).Find(&found).Error; err != nil {
		return nil, err
	}
	views, err := g.views(ctx, viewer, found)
	return &conduit.ArticlePage{Articles: views, ArticlesCount: int(total)}, err
}

func (g gormSite) views(ctx context.Context, viewer int, found []gormArticle) ([]conduit.ArticleView, error) {
	var ids, authors []int64
	for _, a := range found {
		ids, authors = append(ids, a.ID), append(authors, a.AuthorID)
	}
	var liked []gormFavorite
	if err := g.WithContext(ctx).Where("user_id = ? AND article IN ?", of(viewer), ids).Find(&liked).Error; err != nil {
		return nil, err
	}
	likes := map[int64]bool{}
	for _, f := range liked {
		likes[f.Article] = true
	}
	follows, err := g.follows(ctx, viewer, authors)
	if err != nil {
		return nil, err
	}
	views := make([]conduit.ArticleView, len(found))
	for i, a := range found {
		views[i] = conduit.ArticleView{
			Slug: a.Slug, Title: a.Title, Description: a.Description, Body: a.Body, TagList: strings.Split(a.Tags, ","),
			CreatedAt: time.UnixMicro(a.Made).UTC(), UpdatedAt: time.UnixMicro(a.Edited).UTC(),
			Favorited: likes[a.ID], FavoritesCount: a.Favorites, Author: profileOf(&a.Author, follows[a.AuthorID]),
		}
	}
	return views, nil
}

func (g gormSite) follows(ctx context.Context, viewer int, authors []int64) (map[int64]bool, error) {
	var found []gormFollow
	err := g.WithContext(ctx).Where("reader = ? AND author IN ?", of(viewer), authors).Find(&found).Error
	follows := map[int64]bool{}
	for _, f := range found {
		follows[f.Author] = true
	}
	return follows, err
}

func profileOf(u *gormUser, following bool) conduit.Profile {
	p := conduit.Profile{Username: u.Username, Following: following}
	by := profile{u.Bio, u.Image}
	by.fill(&p)
	return p
}

func (g gormSite) Feed(ctx context.Context, viewer int) (*conduit.ArticlePage, error) {
	page, err := g.page(ctx, viewer, func(db *gorm.DB) *gorm.DB {
		return db.Where("author IN (?)", g.Model(&gormFollow{}).Select("author").Where("reader = ?", of(viewer)))
	})
	if err == nil {
		page.ArticlesCount = min(page.ArticlesCount, 1000)
	}
	return page, err
}

func (g gormSite) Tag(ctx context.Context, viewer int, tag string) (*conduit.ArticlePage, error) {
	return g.page(ctx, viewer, func(db *gorm.DB) *gorm.DB {
		return db.Joins("JOIN article_tags t ON t.article = articles.id").Where("t.tag = ?", tag)
	})
}

func (g gormSite) Profile(ctx context.Context, viewer int, username string) (*Author, error) {
	var u gormUser
	if err := g.WithContext(ctx).Where("username = ?", username).First(&u).Error; err != nil {
		return nil, err
	}
	follows, err := g.follows(ctx, viewer, []int64{u.ID})
	if err != nil {
		return nil, err
	}
	p := profileOf(&u, follows[u.ID])
	articles, err := g.page(ctx, viewer, func(db *gorm.DB) *gorm.DB { return db.Where("author = ?", u.ID) })
	return &Author{&p, articles}, err
}

func (g gormSite) article(ctx context.Context, viewer int, slug string) (a gormArticle, v *conduit.ArticleView, err error) {
	if err := g.WithContext(ctx).Preload("Author").Where("slug = ?", slug).First(&a).Error; err != nil {
		return a, nil, err
	}
	views, err := g.views(ctx, viewer, []gormArticle{a})
	if err != nil {
		return a, nil, err
	}
	return a, &views[0], nil
}

func (g gormSite) Article(ctx context.Context, viewer int, slug string) (*Reading, error) {
	a, v, err := g.article(ctx, viewer, slug)
	if err != nil {
		return nil, err
	}
	var found []gormComment
	if err := g.WithContext(ctx).Preload("Author").Where("article = ?", a.ID).Order("id").Limit(1000).Find(&found).Error; err != nil {
		return nil, err
	}
	var authors []int64
	for _, c := range found {
		authors = append(authors, c.AuthorID)
	}
	follows, err := g.follows(ctx, viewer, authors)
	if err != nil {
		return nil, err
	}
	comments := make([]conduit.CommentView, len(found))
	for i, c := range found {
		comments[i] = commentOf(&c, profileOf(&c.Author, follows[c.AuthorID]))
	}
	return &Reading{v, comments}, nil
}

func commentOf(c *gormComment, author conduit.Profile) conduit.CommentView {
	return conduit.CommentView{ID: c.ID, CreatedAt: time.UnixMicro(c.Made).UTC(), UpdatedAt: time.UnixMicro(c.Edited).UTC(), Body: c.Body, Author: author}
}

func (g gormSite) Favorite(ctx context.Context, viewer int, slug string, likes bool) (*conduit.ArticleView, error) {
	err := g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var a gormArticle
		if err := tx.Select("id").Where("slug = ?", slug).First(&a).Error; err != nil {
			return err
		}
		edge, more := &gormFavorite{of(viewer), a.ID}, -1
		var done *gorm.DB
		if likes {
			done, more = tx.Clauses(clause.OnConflict{DoNothing: true}).Create(edge), 1
		} else {
			done = tx.Delete(edge)
		}
		if done.Error != nil || done.RowsAffected == 0 {
			return done.Error
		}
		return tx.Model(&a).UpdateColumn("favorites", gorm.Expr("favorites + ?", more)).Error
	})
	if err != nil {
		return nil, err
	}
	_, v, err := g.article(ctx, viewer, slug)
	return v, err
}

func (g gormSite) Comment(ctx context.Context, viewer int, slug, body string) (*conduit.CommentView, error) {
	db, now := g.WithContext(ctx), time.Now().UnixMicro()
	var a gormArticle
	if err := db.Select("id").Where("slug = ?", slug).First(&a).Error; err != nil {
		return nil, err
	}
	c := gormComment{Article: a.ID, AuthorID: of(viewer), Body: body, Made: now, Edited: now}
	if err := db.Omit("Author").Create(&c).Error; err != nil {
		return nil, err
	}
	var u gormUser
	if err := db.First(&u, of(viewer)).Error; err != nil {
		return nil, err
	}
	follows, err := g.follows(ctx, viewer, []int64{u.ID})
	v := commentOf(&c, profileOf(&u, follows[u.ID]))
	return &v, err
}

func (g gormSite) Publish(ctx context.Context, viewer int, n conduit.NewArticle) (*conduit.ArticleView, error) {
	now := time.Now().UnixMicro()
	a := gormArticle{
		Slug: slugOf(n.Title), Title: n.Title, Description: n.Description, Body: n.Body,
		AuthorID: of(viewer), Tags: strings.Join(n.TagList, ","), Made: now, Edited: now,
	}
	err := g.publish(ctx, &a, n.TagList)
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		a.Slug += "-" + strings.ToLower(rand.Text()[:6])
		err = g.publish(ctx, &a, n.TagList)
	}
	if err != nil {
		return nil, err
	}
	_, v, err := g.article(ctx, viewer, a.Slug)
	return v, err
}

func (g gormSite) publish(ctx context.Context, a *gormArticle, tags []string) error {
	return g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		if err := tx.Omit("Author").Create(a).Error; err != nil {
			return err
		}
		var all []gormTag
		for _, tag := range tags {
			all = append(all, gormTag{tag, a.ID})
		}
		return tx.Create(&all).Error
	})
}
