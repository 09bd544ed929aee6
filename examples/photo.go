package examples

import (
	"math"
	"time"
)

// Photo is a photo that people look at.
type Photo struct {
	ID       string    `kv:"id"`
	Category string    // for TopViewsByCategoryPerDay
	Views    int64     `kv:"counter; ranking; ranking,by=Category,per=day,keep=30"`
	Taken    time.Time `kv:"ranking,name=Archive"`
	GoLive   time.Time `kv:"ranking,name=Schedule,order=low,if=Waiting"`
	Shown    bool
}

// Waiting reports whether the photo is to be shown at GoLive and has not been yet.
func (p *Photo) Waiting() bool { return !p.Shown }

// Hot is the score of the front page: one day is worth a doubling of the views. It does not change
// over time.
//
//kv:ranking,name=Front
func (p *Photo) Hot() float64 {
	return math.Log2(float64(1+p.Views)) + p.Taken.Sub(firstDay).Hours()/24
}

var firstDay = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
