package site

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	_ "github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}


func measureLap(t *testing.T, name string, n int, f func() error) {
	if n == 0 {
		return
	}
	if only := os.Getenv("LOADONLY"); only != "" && os.Getenv("LOADPROF") != "" && strings.Contains(name, only) {
		p, _ := os.Create(os.Getenv("LOADPROF"))
		pprof.StartCPUProfile(p)
		defer func() { pprof.StopCPUProfile(); p.Close() }()
	}
	runtime.GC()
	var m0, m1 runtime.MemStats
	runtime.ReadMemStats(&m0)
	c, w := cpu(), time.Now()
	must(t, f())
	wall, used := time.Since(w), cpu()-c
	runtime.ReadMemStats(&m1)
	fmt.Printf("%-18s %7d  %8.0f rec/s  %6.1f us cpu  %6.1f allocs %8.0f B\n", name, n, float64(n)/wall.Seconds(), float64(used.Microseconds())/float64(n), float64(m1.Mallocs-m0.Mallocs)/float64(n), float64(m1.TotalAlloc-m0.TotalAlloc)/float64(n))
}

func loadN() int {
	if n, err := strconv.Atoi(os.Getenv("LOADN")); err == nil {
		return n
	}
	return 20000
}

func openDB(t *testing.T, name string) *kvmodel.DB {
	url := os.Getenv("LOADURL")
	if url == "" {
		url = "bolt:" + t.TempDir() + "/x.db"
	}
	db, err := kvopen.Open(context.Background(), url, kvmodel.Tenant(name+fmt.Sprint(time.Now().UnixNano())))
	must(t, err)
	return db
}

func multi[T any, K comparable](ctx context.Context, r *kvmodel.Records[T, K], n int, record func(i int) *T) func() error {
	return func() error {
		i := 0
		_, err := r.Load(ctx, func(yield func(*T, error) bool) {
			for ; i < n; i++ {
				if !yield(record(i), nil) {
					return
				}
			}
		}, kvmodel.LoadOptions{})
		return err
	}
}

func TestZZ_Conduit(t *testing.T) {
	ctx := context.Background()
	d := New(loadN())
	db := openDB(t, "c")
	m := conduit.NewApp(db, conduit.Options{Passes: 1}).Models()
	c, w := cpu(), time.Now()
	measureLap(t, "users", d.Users, multi(ctx, m.Users.Records, d.Users, func(i int) *conduit.User {
		return &conduit.User{ID: userID(i), Username: Username(i), Email: email(i), Bio: bio(i), Image: image(i), Password: conduit.Hash{Key: []byte("none")}}
	}))
	measureLap(t, "articles", len(d.Articles), multi(ctx, m.Articles.Records, len(d.Articles), func(i int) *conduit.Article {
		a := d.Articles[i]
		return &conduit.Article{
			ID: articleID(i), Slug: Slug(i), Title: title(i), Description: description(i), Body: Body(i), Author: userID(a.Author), Tags: a.tags(), Made: made(i),
		}
	}))
	measureLap(t, "follows", len(d.Follows), multi(ctx, m.Follows.Records, len(d.Follows), func(i int) *conduit.Follow {
		return &conduit.Follow{Reader: userID(d.Follows[i][0]), Author: userID(d.Follows[i][1])}
	}))
	measureLap(t, "favorites", len(d.Favorites), multi(ctx, m.Favorites.Records, len(d.Favorites), func(i int) *conduit.Favorite {
		f := d.Favorites[i]
		return &conduit.Favorite{User: userID(f[0]), Article: articleID(f[1]), Author: userID(d.Articles[f[1]].Author)}
	}))
	measureLap(t, "comments", len(d.Comments), multi(ctx, m.Comments.Records, len(d.Comments), func(i int) *conduit.Comment {
		c := d.Comments[i]
		return &conduit.Comment{Author: userID(c[0]), Article: articleID(c[1]), Body: comment(i), Made: made(i)}
	}))
	measureLap(t, "flush", 1, func() error { return db.Flush(ctx) })
	must(t, db.Close(ctx))
	n := d.Users + len(d.Articles) + len(d.Follows) + len(d.Favorites) + len(d.Comments)
	fmt.Printf("all %d: %.0f rec/s %.1f us cpu\n", n, float64(n)/time.Since(w).Seconds(), float64((cpu()-c).Microseconds())/float64(n))
}

func TestZZ_Forum(t *testing.T) {
	ctx := context.Background()
	d := NewThreads(loadN())
	db := openDB(t, "f")
	m := forum.Open(db).Models()
	c, w := cpu(), time.Now()
	measureLap(t, "forum.users", d.Users, multi(ctx, m.Users.Records, d.Users, func(i int) *forum.User {
		u := &forum.User{Name: Username(i), About: bio(i), Looked: spoken(len(d.Comments) * 9 / 10)}
		if d.Muted[i] >= 0 {
			u.Muted = []string{Tag(d.Muted[i])}
		}
		return u
	}))
	measureLap(t, "forum.stories", len(d.Stories), multi(ctx, m.Stories.Records, len(d.Stories), func(i int) *forum.Story {
		p := d.Stories[i]
		return &forum.Story{ID: storyID(i), URL: link(i), Title: headline(i), Author: Username(p.Author), Tags: p.tags(), Made: submitted(i)}
	}))
	measureLap(t, "forum.comments", len(d.Comments), multi(ctx, m.Comments.Records, len(d.Comments), func(i int) *forum.Comment {
		c := d.Comments[i]
		x := &forum.Comment{ID: commentID(i), Story: storyID(c.Story), Author: Username(c.Author), To: readerName(d.to(c)), Text: remark(i), Made: spoken(i)}
		if c.Parent >= 0 {
			x.Parent = commentID(c.Parent)
		}
		return x
	}))
	measureLap(t, "forum.votes", len(d.Votes), multi(ctx, m.Votes.Records, len(d.Votes), func(i int) *forum.Vote {
		v := d.Votes[i]
		if v.Comment < 0 {
			return &forum.Vote{User: Username(v.User), Value: v.Value, Item: storyID(v.Story), Story: storyID(v.Story), Author: Username(d.Stories[v.Story].Author)}
		}
		return &forum.Vote{User: Username(v.User), Value: v.Value, Item: commentID(v.Comment), Comment: commentID(v.Comment), Author: Username(d.Comments[v.Comment].Author)}
	}))
	measureLap(t, "forum.saves", len(d.Saves), multi(ctx, m.Saves.Records, len(d.Saves), func(i int) *forum.Save {
		return &forum.Save{User: Username(d.Saves[i][0]), Story: storyID(d.Saves[i][1]), Made: spoken(i)}
	}))
	measureLap(t, "forum.hides", len(d.Hides), multi(ctx, m.Hides.Records, len(d.Hides), func(i int) *forum.Hide {
		return &forum.Hide{User: Username(d.Hides[i][0]), Story: storyID(d.Hides[i][1])}
	}))
	measureLap(t, "flush", 1, func() error { return db.Flush(ctx) })
	must(t, db.Close(ctx))
	n := d.Users + len(d.Stories) + len(d.Comments) + len(d.Votes) + len(d.Saves) + len(d.Hides)
	fmt.Printf("all %d: %.0f rec/s %.1f us cpu\n", n, float64(n)/time.Since(w).Seconds(), float64((cpu()-c).Microseconds())/float64(n))
}
