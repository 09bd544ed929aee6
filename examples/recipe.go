package examples

import "time"

// Recipe is a recipe with stars, which many others have as many of. TopStars shows the
// newest of these first. On Chart they share a rank, and no rank is left out.
type Recipe struct {
	ID    string    `kv:"id"`
	Stars int64     `kv:"ranking,ties=newest; ranking,name=Chart,ties=dense"`
	Made  time.Time `kv:"created"`
}
