package examples

import "time"

// Recipe is a recipe with stars, often as many as others have. On TopStars the newest of these come
// first. On Chart they share a rank, without a gap after it.
type Recipe struct {
	ID    string    `kv:"id"`
	Stars int64     `kv:"ranking,ties=newest; ranking,name=Chart,ties=dense"`
	Made  time.Time `kv:"created"`
}
