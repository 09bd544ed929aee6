package peers

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ringtree/ringtree/bench/compare/place"
)

type footprint struct {
	Owner   int64 `gorm:"primaryKey;autoIncrement:false;index:latest,priority:1"`
	Visitor int64 `gorm:"primaryKey;autoIncrement:false"`
	At      int64 `gorm:"not null;index:latest,priority:2,sort:desc"`
}

type follower struct {
	Topic int64 `gorm:"primaryKey;autoIncrement:false"`
	User  int64 `gorm:"primaryKey;autoIncrement:false;column:user_id"`
}

type gormPeer struct{ place.Gorm }

func onGorm(g place.Gorm) Peer { return gormPeer{g} }

func (g gormPeer) Load(ctx context.Context, n int) error {
	if err := g.AutoMigrate(&Page{}, &footprint{}, &follower{}); err != nil {
		return err
	}
	return g.Fill(ctx, "", tablesOf(n, func(tags []string) any {
		text, _ := json.Marshal(tags)
		return string(text)
	}))
}

func (g gormPeer) Get(ctx context.Context, id int64) (Row, error) {
	var p Page
	return &p, g.WithContext(ctx).First(&p, id).Error
}

func (g gormPeer) Newest(ctx context.Context, at string, limit int) ([]Row, error) {
	db := g.WithContext(ctx).Order("updated_at DESC").Limit(limit)
	if at != "" {
		before, err := momentOf(at)
		if err != nil {
			return nil, err
		}
		db = db.Where("updated_at < ?", before)
	}
	var ps []*Page
	err := db.Find(&ps).Error
	return rows(ps), err
}

func (g gormPeer) Link(ctx context.Context, offset int) (string, error) {
	var last Page
	err := g.WithContext(ctx).Order("updated_at DESC").Offset(offset - 1).Limit(1).Take(&last).Error
	return momentLink(last.UpdatedAt), err
}

func (g gormPeer) Top(ctx context.Context, limit int) ([]Row, error) {
	var ps []*Page
	err := g.WithContext(ctx).Order("views DESC").Limit(limit).Find(&ps).Error
	return rows(ps), err
}

func (g gormPeer) Rank(ctx context.Context, id int64) (int, error) {
	db := g.WithContext(ctx)
	var above int64
	err := db.Model(&Page{}).Where("views > (?)", db.Model(&Page{}).Select("views").Where("id = ?", id)).Count(&above).Error
	return int(above) + 1, err
}

func (g gormPeer) Update(ctx context.Context, id int64, body string) error {
	return g.WithContext(ctx).Model(&Page{ID: id}).Updates(Page{Body: body, UpdatedAt: time.Now().UTC()}).Error
}

func (g gormPeer) View(ctx context.Context, id int64) error {
	return g.WithContext(ctx).Model(&Page{ID: id}).UpdateColumn("views", gorm.Expr("views + ?", 1)).Error
}

func (g gormPeer) Insert(ctx context.Context, p *Page) error {
	err := g.WithContext(ctx).Create(p).Error
	if errors.Is(err, gorm.ErrDuplicatedKey) {
		return ErrTaken
	}
	return err
}

func (g gormPeer) Visit(ctx context.Context, owner int64, v Visit) error {
	return g.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		err := tx.Clauses(clause.OnConflict{UpdateAll: true}).Create(&footprint{owner, v.Visitor, v.At}).Error
		if err != nil {
			return err
		}
		oldest := tx.Model(&footprint{}).Select("at").Where("owner = ?", owner).Order("at DESC").Offset(Kept - 1).Limit(1)
		return tx.Where("owner = ? AND at < (?)", owner, oldest).Delete(&footprint{}).Error
	})
}

func (g gormPeer) Visits(ctx context.Context, owner int64, limit int) ([]Visit, error) {
	var found []Visit
	err := g.WithContext(ctx).Model(&footprint{}).Where("owner = ?", owner).Order("at DESC").Limit(limit).Find(&found).Error
	return found, err
}

func (g gormPeer) Follow(ctx context.Context, topic, user int64) error {
	return g.WithContext(ctx).Clauses(clause.OnConflict{DoNothing: true}).Create(&follower{topic, user}).Error
}

func (g gormPeer) Unfollow(ctx context.Context, topic, user int64) error {
	return g.WithContext(ctx).Delete(&follower{topic, user}).Error
}

func (g gormPeer) Followers(ctx context.Context, topic int64, limit int) ([]int64, error) {
	var users []int64
	err := g.WithContext(ctx).Model(&follower{}).Where("topic = ?", topic).Limit(limit).Pluck("user_id", &users).Error
	return users, err
}
