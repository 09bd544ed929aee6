package demo

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

//go:embed texts.json
var textsFile []byte

// Endings make duplicate titles different.
var texts = func() (t struct {
	Handles, Abouts, Comments []string
	Endings                   []string
	Pages                     []struct {
		Title, Body string
		Topics      []string
	}
	Themes []theme
}) {
	if err := json.Unmarshal(textsFile, &t); err != nil {
		panic(err)
	}
	return t
}()

// {thing} stands for one of the things of a theme.
type theme struct {
	Topic                           string
	Also, Things, Titles, Sentences []string
	Extra                           string // a block that some pages have between the others
}

// chanceOf returns the same random numbers every time.
func chanceOf(kind string, i int) *rand.Rand {
	seed := fnv.New64a()
	seed.Write([]byte(kind))
	return rand.New(rand.NewPCG(seed.Sum64(), uint64(i)))
}

func oneOf(r *rand.Rand, all []string) string { return all[r.IntN(len(all))] }

func some(r *rand.Rand, all []string, n int) (picked []string) {
	for _, i := range r.Perm(len(all))[:min(n, len(all))] {
		picked = append(picked, all[i])
	}
	return picked
}

func memberID(i int) string { return fmt.Sprintf("demo-member-%d", i+1) }

func pageID(i int) string { return fmt.Sprintf("%026d", i+1) }

func page(i int) (author string, d ashiato.Draft) {
	d.ID = pageID(i)
	if i < len(texts.Pages) {
		first := texts.Pages[i]
		d.Title, d.Body, d.Topics = first.Title, first.Body, first.Topics
		return memberID(i % 6), d
	}
	r, n := chanceOf("page", i), len(texts.Handles)
	theme, serial := texts.Themes[i%len(texts.Themes)], i/len(texts.Themes)
	thing := theme.Things[serial%len(theme.Things)]
	d.Title = strings.ReplaceAll(theme.Titles[serial/len(theme.Things)%len(theme.Titles)], "{thing}", thing)
	d.Title = strings.ToUpper(d.Title[:1]) + d.Title[1:]
	// Neighbors have different endings, and the same title gets each ending once.
	all := len(theme.Things) * len(theme.Titles)
	if round := serial / all; round > 0 {
		d.Title += ", " + texts.Endings[(round+serial%all+7*(i%len(texts.Themes)))%len(texts.Endings)]
	}
	d.Topics = append([]string{theme.Topic}, some(r, theme.Also, r.IntN(3))...)
	d.Body = strings.ReplaceAll(body(r, theme), "{thing}", thing)
	return memberID(min(r.IntN(n), r.IntN(n))), d // A few members write most of the pages.
}

func body(r *rand.Rand, theme theme) string {
	sentences := some(r, theme.Sentences, 4+r.IntN(4))
	cut := 1 + r.IntN(len(sentences)-1)
	blocks := []string{strings.Join(sentences[:cut], " "), strings.Join(sentences[cut:], " ")}
	if r.IntN(2) == 0 {
		blocks = slices.Insert(blocks, 1, theme.Extra)
	}
	return strings.Join(blocks, "\n\n")
}

// Zipf's law: the page of rank 10 has a tenth of the views of the first.
func views(i int) int64 { return 1 + int64(2/(chanceOf("views", i).Float64()+.0004)) }
