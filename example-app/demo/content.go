package demo

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// chanceOf returns the random numbers from which thing i of a kind is made. They
// are the same every time.
func chanceOf(kind string, i int) *rand.Rand {
	seed := fnv.New64a()
	seed.Write([]byte(kind))
	return rand.New(rand.NewPCG(seed.Sum64(), uint64(i)))
}

func oneOf[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

// some returns n of all, in random order.
func some[T any](r *rand.Rand, all []T, n int) []T {
	picked := make([]T, 0, n)
	for _, i := range r.Perm(len(all))[:min(n, len(all))] {
		picked = append(picked, all[i])
	}
	return picked
}

func memberID(i int) string { return fmt.Sprintf("demo-member-%d", i+1) }
func pageID(i int) string   { return fmt.Sprintf("demo-page-%d", i+1) }

func member(i int) *ashiato.Member {
	handle := firstHandles[i%len(firstHandles)]
	if round := i / len(firstHandles); round > 0 {
		handle = fmt.Sprintf("%s_%d", handle, round+1)
	}
	return &ashiato.Member{ID: memberID(i), Handle: handle, About: oneOf(chanceOf("about", i), abouts)}
}

// page returns page i of a site with the given number of members.
func page(i, members int) *ashiato.Page {
	p := &ashiato.Page{ID: pageID(i)}
	r := chanceOf("page", i)
	if i < len(firstPages) {
		first := firstPages[i]
		p.Slug, p.Title, p.Body, p.Topics = first.slug, first.title, first.body, first.topics
		p.Author = memberID(i % 6)
		return p
	}
	// A few members write most of the pages.
	p.Author = memberID(min(r.IntN(members), r.IntN(members)))
	theme := themes[i%len(themes)]
	serial := i / len(themes)
	thing := theme.things[serial%len(theme.things)]
	title := theme.titles[serial/len(theme.things)%len(theme.titles)]
	p.Title = capital(strings.ReplaceAll(title, "{thing}", thing))
	// Neighbors have different endings, and the same title gets each ending once.
	all := len(theme.things) * len(theme.titles)
	if round := serial / all; round > 0 {
		p.Title += ", " + endings[(round+serial%all+7*(i%len(themes)))%len(endings)]
		if part := (round-1)/len(endings) + 1; part > 1 {
			p.Title += fmt.Sprintf(", part %d", part)
		}
	}
	if p.Slug = slugOf(p.Title); len(p.Slug) > ashiato.MaxSlug {
		p.Slug = fmt.Sprintf("%s-%d", strings.TrimRight(p.Slug[:ashiato.MaxSlug-8], "-"), i+1)
	}
	p.Topics = append([]string{theme.topic}, some(r, theme.also, r.IntN(3))...)
	p.Body = body(r, theme, thing)
	return p
}

// capital returns title, which is ASCII, with its first letter in upper case.
func capital(title string) string { return strings.ToUpper(title[:1]) + title[1:] }

// slugOf returns the slug made from a title.
func slugOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// body returns a text made of sentences of a theme, each used once.
func body(r *rand.Rand, theme theme, thing string) string {
	sentences := some(r, theme.sentences, 4+r.IntN(4))
	for i, s := range sentences {
		sentences[i] = strings.ReplaceAll(s, "{thing}", thing)
	}
	cut := 1 + r.IntN(len(sentences)-1)
	blocks := []string{strings.Join(sentences[:cut], " "), strings.Join(sentences[cut:], " ")}
	if r.IntN(2) == 0 {
		blocks = slices.Insert(blocks, 1, theme.extra)
	}
	return strings.Join(blocks, "\n\n")
}

// views returns how many views page i gets on the day it is published. By Zipf's law: the
// tenth of all pages has a tenth of the views of the first.
func views(i int) int64 { return 1 + int64(2/(chanceOf("views", i).Float64()+.0004)) }

// likes returns the likes of page i, in the order of the members' ids.
func likes(i, members int) []*ashiato.Like {
	r := chanceOf("likes", i)
	var all []*ashiato.Like
	author := page(i, members).Author
	for who := range min(members, int(1/(r.Float64()+.02))) {
		if memberID(who) != author {
			all = append(all, &ashiato.Like{Member: memberID(who), Page: pageID(i)})
		}
	}
	return all
}

// regretted reports whether the author of page i puts it into the trash on the next day, and
// takes it back at once.
func regretted(i int) (trashed, restored bool) { return i%17 == 11, i%34 == 11 }

// remarks returns the comments on page i, oldest first.
func remarks(i, members int, now time.Time) []*ashiato.Comment {
	r := chanceOf("comments", i)
	var all []*ashiato.Comment
	for n := range max(0, r.IntN(8)-3) {
		all = append(all, &ashiato.Comment{
			ID: fmt.Sprintf("demo-comment-%d-%d", i+1, n+1), Page: pageID(i),
			Author: memberID(r.IntN(members)), Text: oneOf(r, comments),
			At: now.Add(-time.Duration(r.IntN(600)) * time.Minute),
		})
	}
	slices.SortFunc(all, func(a, b *ashiato.Comment) int { return a.At.Compare(b.At) })
	return all
}

// visits returns who looked at whose profile, oldest first.
func visits(members int, now time.Time) []ashiato.Visit {
	var all []ashiato.Visit
	for owner := range members {
		r := chanceOf("visits", owner)
		for range 12 {
			if guest := r.IntN(members); guest != owner {
				at := now.Add(-time.Duration(r.IntN(9*24*60)) * time.Minute)
				all = append(all, ashiato.Visit{Owner: memberID(owner), Guest: memberID(guest), At: at})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b ashiato.Visit) int { return a.At.Compare(b.At) })
	return all
}

// follows returns who follows whom, each pair once.
func follows(members int) []*ashiato.Follow {
	var all []*ashiato.Follow
	for who := range members {
		for _, whom := range chanceOf("follows", who).Perm(members)[:min(6, members)] {
			if whom != who {
				all = append(all, &ashiato.Follow{Follower: memberID(who), Followed: memberID(whom)})
			}
		}
	}
	return all
}

// interests returns who follows which topics. Nearly all follow the first.
func interests(members int) []*ashiato.Interest {
	names := topicNames()
	var all []*ashiato.Interest
	for who := range members {
		r := chanceOf("interests", who)
		mine := some(r, names[1:], 3)
		if r.IntN(10) > 0 {
			mine = append(mine, names[0])
		}
		for _, name := range mine {
			all = append(all, &ashiato.Interest{Member: memberID(who), Topic: name})
		}
	}
	return all
}

// topicNames returns the topics of all demo pages, each once.
func topicNames() []string {
	var names, also []string
	for _, t := range themes {
		names, also = append(names, t.topic), append(also, t.also...)
	}
	for _, p := range firstPages {
		also = append(also, p.topics...)
	}
	for _, name := range also {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
