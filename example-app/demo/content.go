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

func oneOf(r *rand.Rand, all []string) string { return all[r.IntN(len(all))] }

// some returns n of all, in random order.
func some(r *rand.Rand, all []string, n int) (picked []string) {
	for _, i := range r.Perm(len(all))[:min(n, len(all))] {
		picked = append(picked, all[i])
	}
	return picked
}

func memberID(i int) string { return fmt.Sprintf("demo-member-%d", i+1) }
func pageID(i int) string   { return fmt.Sprintf("demo-page-%d", i+1) }

func member(i int) *ashiato.Member {
	handle := texts.Handles[i%len(texts.Handles)]
	if round := i / len(texts.Handles); round > 0 {
		handle = fmt.Sprintf("%s_%d", handle, round+1)
	}
	return &ashiato.Member{ID: memberID(i), Handle: handle, About: oneOf(chanceOf("about", i), texts.Abouts)}
}

// page returns page i of a site with the given number of members.
func page(i, members int) *ashiato.Page {
	if i < len(texts.Pages) {
		first := texts.Pages[i]
		return &ashiato.Page{ID: pageID(i), Slug: first.Slug, Title: first.Title, Body: first.Body, Topics: first.Topics, Author: memberID(i % 6)}
	}
	r := chanceOf("page", i)
	// A few members write most of the pages.
	p := &ashiato.Page{ID: pageID(i), Author: memberID(min(r.IntN(members), r.IntN(members)))}
	theme, serial := texts.Themes[i%len(texts.Themes)], i/len(texts.Themes)
	thing := theme.Things[serial%len(theme.Things)]
	p.Title = strings.ReplaceAll(theme.Titles[serial/len(theme.Things)%len(theme.Titles)], "{thing}", thing)
	p.Title = strings.ToUpper(p.Title[:1]) + p.Title[1:]
	// Neighbors have different endings, and the same title gets each ending once.
	all := len(theme.Things) * len(theme.Titles)
	if round := serial / all; round > 0 {
		p.Title += ", " + texts.Endings[(round+serial%all+7*(i%len(texts.Themes)))%len(texts.Endings)]
		if part := (round-1)/len(texts.Endings) + 1; part > 1 {
			p.Title += fmt.Sprintf(", part %d", part)
		}
	}
	if p.Slug = slugOf(p.Title); len(p.Slug) > ashiato.MaxSlug {
		p.Slug = fmt.Sprintf("%s-%d", strings.TrimRight(p.Slug[:ashiato.MaxSlug-8], "-"), i+1)
	}
	p.Topics = append([]string{theme.Topic}, some(r, theme.Also, r.IntN(3))...)
	p.Body = strings.ReplaceAll(body(r, theme), "{thing}", thing)
	return p
}

// slugOf returns the slug made from a title, which is ASCII.
func slugOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return strings.Join(words, "-")
}

// body returns a text made of sentences of a theme, each used once.
func body(r *rand.Rand, theme theme) string {
	sentences := some(r, theme.Sentences, 4+r.IntN(4))
	cut := 1 + r.IntN(len(sentences)-1)
	blocks := []string{strings.Join(sentences[:cut], " "), strings.Join(sentences[cut:], " ")}
	if r.IntN(2) == 0 {
		blocks = slices.Insert(blocks, 1, theme.Extra)
	}
	return strings.Join(blocks, "\n\n")
}

// views returns how many views page i gets on the day it is published. By Zipf's law: the
// tenth of all pages has a tenth of the views of the first.
func views(i int) int64 { return 1 + int64(2/(chanceOf("views", i).Float64()+.0004)) }

// likes returns the likes of page i, in the order of the members' ids.
func likes(i, members int) (all []*ashiato.Like) {
	r, author := chanceOf("likes", i), page(i, members).Author
	for who := range min(members, int(1/(r.Float64()+.02))) {
		if memberID(who) != author {
			all = append(all, &ashiato.Like{Member: memberID(who), Page: pageID(i)})
		}
	}
	return all
}

// remarks returns the comments on page i, oldest first.
func remarks(i, members int, now time.Time) (all []*ashiato.Comment) {
	r := chanceOf("comments", i)
	for n := range max(0, r.IntN(8)-3) {
		all = append(all, &ashiato.Comment{
			ID: fmt.Sprintf("demo-comment-%d-%d", i+1, n+1), Page: pageID(i),
			Author: memberID(r.IntN(members)), Text: oneOf(r, texts.Comments),
			At: now.Add(-time.Duration(r.IntN(600)) * time.Minute),
		})
	}
	slices.SortFunc(all, func(a, b *ashiato.Comment) int { return a.At.Compare(b.At) })
	return all
}

// visits returns the visits to profiles, oldest first.
func visits(members int, now time.Time) (all []ashiato.Visit) {
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
func follows(members int) (all []*ashiato.Follow) {
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
func interests(members int) (all []*ashiato.Interest) {
	names := topicNames()
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
func topicNames() (names []string) {
	var also []string
	for _, t := range texts.Themes {
		names, also = append(names, t.Topic), append(also, t.Also...)
	}
	for _, p := range texts.Pages {
		also = append(also, p.Topics...)
	}
	for _, name := range also {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
