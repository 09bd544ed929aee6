package sampleapp

import (
	"fmt"
	"strings"
	"time"
)

// Now is the time on the clocks of all sites: a Sunday, so that the week which began on
// Monday has seven days.
var Now = time.Date(2026, time.July, 19, 12, 0, 0, 0, time.UTC)

// The data of a site with n articles, which are numbered from 1.
const (
	members   = 500 // who take turns in writing
	followers = 6   // of each
	viewed    = 10  // one in so many articles is viewed each day
	weekDays  = 7
	discussed = 4 // one in so many articles has comments
	spoken    = 3 // so many of them
)

var topicNames = strings.Fields("tokyo kyoto osaka trains tea rain gardens bridges bread maps birds clocks paper rivers lanterns stairs cats ferries books snow")

// Slug returns the slug of an article.
func Slug(i int64) string { return fmt.Sprintf("article-%d", i) }

// idOf returns the id that the sample app has of the article with that slug.
func idOf(slug string) string { return strings.TrimPrefix(slug, "article-") }

func handle(member int64) string { return fmt.Sprintf("member%d", member) }

func about(member int64) string {
	return fmt.Sprintf("I write about %s, and *sometimes* about %s.", topic(member), topic(member*7+1))
}

func topic(i int64) string { return topicNames[i%int64(len(topicNames))] }

// entry is an article as it is stored.
type entry struct {
	Listed
	id, author int64
	body       string
	comments   []comment
	days       [weekDays]int64 // views today, yesterday and so on, which are among Views
}

// comment is one of an article as it is stored.
type comment struct {
	id, author int64
	text       string
	at         time.Time
}

// newEntry returns article i of n. No two have as many views, and no two were published at
// the same time: the last are the newest.
func newEntry(i int64, n int) entry {
	e := entry{id: i, author: 1 + (i-1)%members, body: text(i)}
	e.Slug = Slug(i)
	e.Title = fmt.Sprintf("%s and %s, part %d", topic(i), topic(i*3+1), i)
	e.Author = handle(e.author)
	e.Topics = []string{topic(i), topic(i + 5)}
	e.Published = Now.Add(-time.Duration(int64(n)-i+1)*time.Hour - 30*time.Minute)
	place := i * 104729 % int64(n)
	e.Views = 50_000_000/(1+place) + int64(n) - place + 30_000
	if i%viewed == 0 {
		place = i / viewed * 7919 % int64(n/viewed)
		for day := range e.days {
			e.days[day] = 3000/(1+place) + (i+int64(day))%3
		}
	}
	if i%discussed == 0 {
		for c := range int64(spoken) {
			e.comments = append(e.comments, comment{i*spoken + c, 1 + (i+c*11)%members, "I did *not* know that about " + topic(i+c) + ".", Now.Add(-time.Duration(2*spoken-c) * 25 * time.Hour)})
		}
	}
	return e
}

// viewsOn returns the views so many days ago; those before the week were on the day before.
func (e *entry) viewsOn(day int) int64 {
	if day < weekDays {
		return e.days[day]
	}
	older := e.Views
	for _, views := range e.days {
		older -= views
	}
	return older
}

// text returns what article i says, with a few marks.
func text(i int64) string {
	var b strings.Builder
	for p := range int64(4) {
		fmt.Fprintf(&b, "The %s near the %s is older than **anyone** remembers, and nobody has counted it. "+
			"Whoever comes back after %d years finds the %s where it was, beside the %s.\n\n",
			topic(i+p), topic(i*5+p), i%90+2, topic(i+2*p), topic(i*11+p))
	}
	fmt.Fprintf(&b, "- go there in the morning\n- take the `%s` line\n- come back by *foot*\n", topic(i*13))
	return b.String()
}

// eachBatch calls f with the articles of a site, the oldest first. No two in a batch have
// the same author.
func eachBatch(n int, f func([]entry) error) error {
	for begin := 1; begin <= n; begin += members {
		var batch []entry
		for i := begin; i < begin+members && i <= n; i++ {
			batch = append(batch, newEntry(int64(i), n))
		}
		if err := f(batch); err != nil {
			return err
		}
	}
	return nil
}
