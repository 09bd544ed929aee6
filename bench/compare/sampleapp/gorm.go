package sampleapp

import (
	"context"
	"slices"
	"strconv"
	"time"

	"gorm.io/gorm"
)

// Gorm is GORM on any database, as its guides write it.
type Gorm struct{ DB *gorm.DB }

// member, article, remark and dayViews are the rows of its tables.
type member struct {
	ID        int64
	Handle    string `gorm:"uniqueIndex;not null"`
	About     string `gorm:"not null"`
	Followers int64  `gorm:"not null"`
}

type article struct {
	ID        int64
	Slug      string    `gorm:"uniqueIndex;not null"`
	Title     string    `gorm:"not null"`
	Body      string    `gorm:"not null"`
	AuthorID  int64     `gorm:"not null;index:by_author,priority:1"`
	Author    member    `gorm:"foreignKey:AuthorID"`
	Topics    []string  `gorm:"serializer:json;not null"`
	Published time.Time `gorm:"not null;index;index:by_author,priority:2"`
	Views     int64     `gorm:"not null;index"`
	Comments  int64     `gorm:"not null"`
}

type remark struct {
	ID        int64
	ArticleID int64     `gorm:"not null;index:of_article,priority:1"`
	AuthorID  int64     `gorm:"not null"`
	Author    member    `gorm:"foreignKey:AuthorID"`
	Text      string    `gorm:"not null"`
	At        time.Time `gorm:"not null;index:of_article,priority:2"`
}

type dayViews struct {
	Day       int   `gorm:"primaryKey;autoIncrement:false"`
	ArticleID int64 `gorm:"primaryKey;autoIncrement:false"`
	Views     int64 `gorm:"not null"`
}

func (a *article) listed() Listed {
	return Listed{a.Slug, a.Title, a.Author.Handle, a.Topics, a.Views, a.Published}
}

func listedArticles(from []article) []Listed {
	all := make([]Listed, len(from))
	for i := range from {
		all[i] = from[i].listed()
	}
	return all
}

// today returns the day of Now, in days since 1970.
func today() int { return int(Now.Unix() / (24 * 60 * 60)) }

// Home returns what the home page shows.
func (g *Gorm) Home(ctx context.Context) (Home, error) {
	var latest []article
	db := g.DB.WithContext(ctx)
	if err := db.Joins("Author").Order("published DESC").Limit(newest + 1).Find(&latest).Error; err != nil {
		return Home{}, err
	}
	week, err := g.week(db)
	if err != nil {
		return Home{}, err
	}
	var last int64 // None was deleted, so its id says how many there are.
	err = db.Model(&article{}).Select("max(id)").Scan(&last).Error
	return Home{listedArticles(latest), week, last, members}, err
}

// week returns the articles viewed most this week.
func (g *Gorm) week(db *gorm.DB) ([]Listed, error) {
	var sums []struct{ ArticleID, Total int64 }
	err := db.Model(&dayViews{}).Select("article_id, sum(views) AS total").Where("day > ?", today()-weekDays).
		Group("article_id").Order("total DESC").Limit(popular).Scan(&sums).Error
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(sums))
	for i, sum := range sums {
		ids[i] = sum.ArticleID
	}
	var articles []article
	if err := db.Joins("Author").Find(&articles, ids).Error; err != nil {
		return nil, err
	}
	week := make([]Listed, len(sums))
	for i := range articles {
		at := slices.Index(ids, articles[i].ID)
		week[at] = articles[i].listed()
		week[at].Views = sums[at].Total
	}
	return week, nil
}

func countGorm(db *gorm.DB, above int64) (n int64, err error) {
	return n, db.Model(&article{}).Where("views > ?", above).Count(&n).Error
}

// Ranking returns the first part of the ranking.
func (g *Gorm) Ranking(ctx context.Context) (Ranking, error) {
	var articles []article
	db := g.DB.WithContext(ctx)
	if err := db.Joins("Author").Where("views > 0").Order("views DESC").Limit(top).Find(&articles).Error; err != nil {
		return Ranking{}, err
	}
	of, err := countGorm(db, 0)
	ranks := Ranking{Top: listedArticles(articles), Of: of}
	if len(articles) == top {
		ranks.Next = strconv.FormatInt(articles[top-1].Views, 10)
	}
	return ranks, err
}

// Article returns an article with all that is around it.
func (g *Gorm) Article(ctx context.Context, slug string) (Article, error) {
	var found article
	db := g.DB.WithContext(ctx)
	if err := db.Joins("Author").Where("slug = ?", slug).First(&found).Error; err != nil {
		return Article{}, err
	}
	a := Article{Listed: found.listed(), Body: found.Body, About: found.Author.About, Followers: found.Author.Followers, Comments: found.Comments}
	var said []remark
	if err := db.Joins("Author").Where("article_id = ?", found.ID).Order("at DESC").Limit(remarks).Find(&said).Error; err != nil {
		return a, err
	}
	for _, r := range said {
		a.Remarks = append(a.Remarks, Remark{r.Author.Handle, r.Text, r.At})
	}
	var others []article
	if err := db.Where("author_id = ? AND id <> ?", found.AuthorID, found.ID).Order("published DESC").Limit(more).Find(&others).Error; err != nil {
		return a, err
	}
	a.More = listedArticles(others)
	above, err := countGorm(db, found.Views)
	if err != nil {
		return a, err
	}
	a.Rank = above + 1
	a.Of, err = countGorm(db, 0)
	return a, err
}

// Load makes the data of a site with n articles.
func (g *Gorm) Load(ctx context.Context, n int) error {
	if err := g.DB.AutoMigrate(&member{}, &article{}, &remark{}, &dayViews{}); err != nil {
		return err
	}
	err := g.DB.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		var people []member
		for i := range int64(members) {
			people = append(people, member{i + 1, handle(i + 1), about(i + 1), followers})
		}
		if err := tx.Create(&people).Error; err != nil {
			return err
		}
		return eachBatch(n, func(batch []entry) error { return loadGorm(tx, batch) })
	})
	if err != nil {
		return err
	}
	if g.DB.Name() == "postgres" {
		return g.DB.Exec("VACUUM ANALYZE").Error // Only then it counts by the index alone.
	}
	return g.DB.Exec("ANALYZE").Error
}

func loadGorm(tx *gorm.DB, batch []entry) error {
	var articles []article
	var said []remark
	var days []dayViews
	for _, e := range batch {
		articles = append(articles, article{
			ID: e.id, Slug: e.Slug, Title: e.Title, Body: e.body, AuthorID: e.author, Topics: e.Topics,
			Published: e.Published, Views: e.Views, Comments: int64(len(e.comments)),
		})
		for _, c := range e.comments {
			said = append(said, remark{ID: c.id, ArticleID: e.id, AuthorID: c.author, Text: c.text, At: c.at})
		}
		for day, views := range e.days {
			if views > 0 {
				days = append(days, dayViews{today() - day, e.id, views})
			}
		}
	}
	// One batch needs no more variables than a statement may have.
	err := tx.Omit("Author").CreateInBatches(&articles, 100).Error
	if err == nil && len(said) > 0 {
		err = tx.Omit("Author").CreateInBatches(&said, 100).Error
	}
	if err == nil && len(days) > 0 {
		err = tx.CreateInBatches(&days, 500).Error
	}
	return err
}
