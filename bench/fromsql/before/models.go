// Package before queries a database by SQL, using GORM. The table in docs/from-sql.md shows it
// beside package after.
package before

import (
	"time"

	"gorm.io/gorm"
)

// User is an author.
type User struct {
	ID        string `gorm:"primaryKey"`
	Name      string `gorm:"uniqueIndex"`
	DeletedAt gorm.DeletedAt
}

// Post is a post of a user.
type Post struct {
	ID       string `gorm:"primaryKey"`
	Slug     string `gorm:"uniqueIndex"`
	Title    string
	AuthorID string `gorm:"index:author_made,priority:1;index:author_status,priority:1"`
	Author   User
	Status   string    `gorm:"index:author_status,priority:2"`
	Made     time.Time `gorm:"index;index:author_made,priority:2"`
	Views    int64     `gorm:"index"`
	Version  int64
	Tags     []PostTag `gorm:"constraint:OnDelete:CASCADE"`
	Comments []Comment `gorm:"constraint:OnDelete:CASCADE"`
	Likes    []Like    `gorm:"constraint:OnDelete:CASCADE"`
}

// PostTag means that a post has a tag.
type PostTag struct {
	PostID string `gorm:"primaryKey"`
	Tag    string `gorm:"primaryKey;index"`
}

// Comment is on a post.
type Comment struct {
	ID     string `gorm:"primaryKey"`
	PostID string `gorm:"index"`
	Text   string
}

// Like means that a user likes a post.
type Like struct {
	UserID string `gorm:"primaryKey"`
	PostID string `gorm:"primaryKey;index"`
}
