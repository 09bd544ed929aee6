package before

import (
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
)

const (
	id, slug, ann, tag, title = "p07", "slug07", "ann", "go", "On trees"
	pages                     = 3
)

var (
	begun    = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	from, to = begun.Add(10 * time.Minute), begun.Add(20 * time.Minute)
)

// Rows is the code in the table, by the first cells of its rows. Results are in the form of package
// after.
var Rows = map[string]func(db *gorm.DB) (any, error){
	"SELECT … WHERE id = ?": func(db *gorm.DB) (any, error) {
		var post Post
		err := db.First(&post, "id = ?", id).Error
		return post.Slug, err
	},
	"WHERE id IN ?": func(db *gorm.DB) (any, error) {
		var posts []Post
		ids := []string{"p03", "p09"}
		err := db.Find(&posts, "id IN ?", ids).Error
		return slugs(posts), err
	},
	"WHERE slug = ? (UNIQUE)": func(db *gorm.DB) (any, error) {
		var post Post
		err := db.First(&post, "slug = ?", slug).Error
		return post.ID, err
	},
	"WHERE author = ? AND status = ?": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Where("author_id = ? AND status = ?", ann, "draft").Limit(20).Find(&posts).Error
		return len(posts), err
	},
	"WHERE title LIKE '%trees%'": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Where("title LIKE ?", "%trees%").Limit(20).Find(&posts).Error
		return len(posts), err
	},
	"JOIN tags … WHERE tag = ?": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Joins("JOIN post_tags t ON t.post_id = posts.id").Where("t.tag = ?", tag).Limit(20).Find(&posts).Error
		return len(posts), err
	},
	"EXISTS": func(db *gorm.DB) (any, error) {
		var like Like
		err := db.First(&like, "user_id = ? AND post_id = ?", ann, id).Error
		return like.UserID, err
	},
	"the author of each (N+1)": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Preload("Author").Order("made DESC").Limit(20).Find(&posts).Error
		return posts[0].Author.Name, err
	},

	"ORDER BY made DESC LIMIT 20": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Order("made DESC").Limit(20).Find(&posts).Error
		return slugs(posts), err
	},
	"… OFFSET 20": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Order("made DESC").Offset(20).Limit(20).Find(&posts).Error
		return slugs(posts), err
	},
	"WHERE author = ? ORDER BY made DESC": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Where("author_id = ?", ann).Order("made DESC").Limit(20).Find(&posts).Error
		return slugs(posts), err
	},
	"page 3, and how many pages": func(db *gorm.DB) (any, error) {
		var posts []Post
		var n int64
		err := errors.Join(
			db.Order("made DESC").Offset(40).Limit(20).Find(&posts).Error,
			db.Model(&Post{}).Count(&n).Error)
		return fmt.Sprint(slugs(posts), (n+19)/20), err
	},
	"WHERE made BETWEEN ? AND ?": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Where("made >= ? AND made < ?", from, to).Order("made DESC").Limit(20).Find(&posts).Error
		return slugs(posts), err
	},
	"ORDER BY views DESC": func(db *gorm.DB) (any, error) {
		var posts []Post
		err := db.Order("views DESC").Limit(20).Find(&posts).Error
		return slugs(posts), err
	},
	"RANK() OVER (ORDER BY views DESC)": func(db *gorm.DB) (any, error) {
		var above int64
		views := db.Model(&Post{}).Select("views").Where("id = ?", id)
		err := db.Model(&Post{}).Where("views > (?)", views).Count(&above).Error
		return above + 1, err
	},

	"COUNT(*)": func(db *gorm.DB) (any, error) {
		var n int64
		err := db.Model(&Post{}).Count(&n).Error
		return n, err
	},
	"COUNT(*) … WHERE post = ?": func(db *gorm.DB) (any, error) {
		var n int64
		err := db.Model(&Like{}).Where("post_id = ?", id).Count(&n).Error
		return n, err
	},
	"GROUP BY tag ORDER BY COUNT(*) DESC": func(db *gorm.DB) (any, error) {
		var counts []struct {
			Tag string
			N   int64
		}
		err := db.Model(&PostTag{}).Select("tag, COUNT(*) AS n").Group("tag").Order("n DESC").Limit(20).Find(&counts).Error
		return fmt.Sprint(counts), err
	},
	"SELECT DISTINCT tag": func(db *gorm.DB) (any, error) {
		var tags []string
		err := db.Model(&PostTag{}).Distinct().Order("tag").Limit(20).Pluck("tag", &tags).Error
		return fmt.Sprint(tags), err
	},
	"every row": func(db *gorm.DB) (any, error) {
		n := 0
		var some []Post
		err := db.FindInBatches(&some, 100, func(*gorm.DB, int) error { n += len(some); return nil }).Error
		return n, err
	},

	"INSERT": func(db *gorm.DB) (any, error) {
		post := Post{ID: "new", Slug: "new", Title: title, AuthorID: ann, Made: begun, Tags: []PostTag{{Tag: tag}}}
		err := db.Create(&post).Error
		return post.ID, err
	},
	"INSERT, the value is taken": func(db *gorm.DB) (any, error) {
		post := Post{ID: "new", Slug: slug, AuthorID: ann, Made: begun}
		err := db.Create(&post).Error
		if !errors.Is(err, gorm.ErrDuplicatedKey) {
			return nil, fmt.Errorf("unexpected error: %w", err)
		}
		return "taken", nil
	},
	"INSERT of 100": func(db *gorm.DB) (any, error) {
		users := make([]*User, 100)
		for i := range users {
			users[i] = &User{ID: fmt.Sprint("u", i), Name: fmt.Sprint("name", i)}
		}
		err := db.CreateInBatches(users, 100).Error
		return len(users), err
	},
	"UPDATE SET title = ?": func(db *gorm.DB) (any, error) {
		err := db.Model(&Post{}).Where("id = ?", id).Update("title", title).Error
		return title, err
	},
	"… WHERE version = ?": func(db *gorm.DB) (any, error) {
		var post Post
		if err := db.First(&post, "id = ?", id).Error; err != nil {
			return nil, err
		}
		found := db.Model(&Post{}).Where("id = ? AND version = ?", id, post.Version).
			Updates(map[string]any{"title": title, "version": post.Version + 1})
		return found.RowsAffected == 1, found.Error
	},
	"SET views = views + 1": func(db *gorm.DB) (any, error) {
		err := db.Model(&Post{}).Where("id = ?", id).UpdateColumn("views", gorm.Expr("views + 1")).Error
		return 1, err
	},
	"ON CONFLICT DO UPDATE": func(db *gorm.DB) (any, error) {
		user := User{ID: ann, Name: "Anne"}
		err := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&user).Error
		return user.Name, err
	},
	"a like, and the number of likes": func(db *gorm.DB) (any, error) {
		err := db.Create(&Like{UserID: ann, PostID: "p09"}).Error
		return "liked", err
	},
	"DELETE … CASCADE": func(db *gorm.DB) (any, error) {
		err := db.Delete(&Post{}, "id = ?", id).Error
		return "deleted", err
	},
	"soft delete": func(db *gorm.DB) (any, error) {
		err := db.Delete(&User{}, "id = ?", ann).Error
		return "removed", err
	},
}

func slugs(posts []Post) (all []string) {
	for _, p := range posts {
		all = append(all, p.Slug)
	}
	return all
}

func Fill(db *gorm.DB) error {
	if err := db.AutoMigrate(&User{}, &Post{}, &PostTag{}, &Comment{}, &Like{}); err != nil {
		return err
	}
	err := db.Create([]User{{ID: ann, Name: "Ann"}, {ID: "bob", Name: "Bob"}}).Error
	for i := range 20 * pages {
		err = errors.Join(err, db.Create(post(i)).Error)
	}
	return errors.Join(err,
		db.Create([]Like{{ann, id}, {"bob", id}}).Error,
		db.Create(&Comment{ID: "c1", PostID: id, Text: "Fine."}).Error)
}

func post(i int) *Post {
	p := &Post{
		ID: fmt.Sprintf("p%02d", i), Slug: fmt.Sprintf("slug%02d", i), Title: "On rings", AuthorID: ann, Status: "public",
		Made: begun.Add(time.Duration(i) * time.Minute), Views: int64(i*7%61 + 1), Tags: []PostTag{{Tag: tag}},
	}
	if i%2 == 1 {
		p.AuthorID = "bob"
	}
	if i%3 == 0 {
		p.Status, p.Title, p.Tags = "draft", title, append(p.Tags, PostTag{Tag: "trees"})
	}
	return p
}
