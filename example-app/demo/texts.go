package demo

import (
	_ "embed"
	"encoding/json"
)

//go:embed texts.json
var textsFile []byte

// texts are what the demo is made of.
var texts = func() (t struct {
	Handles, Abouts, Comments []string
	Endings                   []string // make titles that would be there twice different
	Pages                     []struct {
		Slug, Title, Body string
		Topics            []string
	}
	Themes []theme
}) {
	if err := json.Unmarshal(textsFile, &t); err != nil {
		panic(err)
	}
	return t
}()

// theme is what many pages are about. {thing} stands for one of its things.
type theme struct {
	Topic                           string
	Also, Things, Titles, Sentences []string
	Extra                           string // a block that some pages have between the others
}
