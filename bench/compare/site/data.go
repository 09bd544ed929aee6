package site

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Data is the content of a site. Users and articles are numbered from 0, articles in the order of
// writing.
type Data struct {
	Users     int
	Articles  []Article
	Follows   [][2]int // reader, author
	Favorites [][2]int // user, article
	Comments  [][2]int // user, article
}

type Article struct {
	Author int
	Tags   [3]int
}

const Tags = 50

// New returns a site of about n records, the same each time.
func New(n int) *Data {
	d := &Data{Users: n / 50}
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	for range n / 10 {
		a := Article{Author: popular(rng, d.Users)}
		a.Tags[0] = popular(rng, Tags)
		a.Tags[1] = (a.Tags[0] + 1 + popular(rng, Tags/2)) % Tags
		a.Tags[2] = (a.Tags[0] + Tags/2 + 1 + rng.IntN(Tags/2-1)) % Tags
		d.Articles = append(d.Articles, a)
	}
	d.Follows = pairs(n/5, func() [2]int { return [2]int{rng.IntN(d.Users), popular(rng, d.Users)} })
	d.Favorites = pairs(n*2/5, func() [2]int { return [2]int{rng.IntN(d.Users), d.Popular(rng)} })
	for range n * 7 / 25 {
		d.Comments = append(d.Comments, [2]int{rng.IntN(d.Users), d.Popular(rng)})
	}
	return d
}

func pairs(n int, next func() [2]int) (all [][2]int) {
	seen := map[[2]int]bool{}
	for len(all) < n {
		if p := next(); !seen[p] {
			seen[p] = true
			all = append(all, p)
		}
	}
	return all
}

// popular returns one of 0..n-1, low ones more often: the first hundredth one time in twenty.
func popular(rng *rand.Rand, n int) int { return int(float64(n) * math.Pow(rng.Float64(), 1.5)) }

func (d *Data) Popular(rng *rand.Rand) int {
	return len(d.Articles) - 1 - popular(rng, len(d.Articles))
}

func Username(user int) string { return fmt.Sprint("user", user) }

func email(user int) string { return Username(user) + "@example.com" }
func bio(user int) string   { return fmt.Sprint("Has written since the year ", 1990+user%30, ".") }
func image(user int) string { return fmt.Sprintf("https://example.com/faces/%d.png", user) }

func title(article int) string       { return fmt.Sprint("Rings and trees ", article) }
func description(article int) string { return fmt.Sprint("What number ", article, " keeps, and where") }

func Slug(article int) string { return fmt.Sprint("rings-and-trees-", article) }

func Tag(tag int) string { return fmt.Sprint("tag", tag) }

func (a Article) tags() []string { return []string{Tag(a.Tags[0]), Tag(a.Tags[1]), Tag(a.Tags[2])} }

func comment(n int) string {
	return fmt.Sprint("Remark ", n, ": I have read it twice, and shall again.")
}

var letters = []rune("abcdefghij klmnop qrst uvw xyz, etaoin shrdlu. 東京検索")

func Body(seed int) string {
	rng := rand.New(rand.NewPCG(uint64(seed), 7))
	text := make([]rune, 2000)
	for i := range text {
		text[i] = letters[rng.IntN(len(letters))]
	}
	return string(text)
}

func made(n int) time.Time { return time.Unix(1_700_000_000+int64(n), 0).UTC() }
