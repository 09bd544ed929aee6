package pages

import (
	"strings"
	"unicode/utf8"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/templates"
)

// keysShown is the number of keys of each picture that the table lists.
const keysShown = 12

func titleOf(l *ashiato.Look) string {
	if l.Of == "" {
		return l.Title
	}
	return l.Title + ": " + l.Of
}

// linksToLists returns links to all lists, without an address for the one that is shown.
func linksToLists(looks []*ashiato.Look) []templates.Link {
	var all []templates.Link
	for _, l := range ashiato.Lists {
		link := templates.Link{Text: l.Title, Href: With("/hood", "list", l.Name)}
		if l.Name == looks[0].Name && len(looks) == 1 {
			link.Href = ""
		}
		all = append(all, link)
	}
	return all
}

func askLabel(l *ashiato.Look) string {
	label := map[string]string{"page": "Address of the page, as it ends", "topic": "Topic", "member": "Handle of the member"}[l.Asks]
	if !l.Needs {
		label += ", to draw the way to it"
	}
	return label
}

// keysOf returns the first keys of each picture, and how many there are.
func keysOf(looks []*ashiato.Look) (rows []templates.KeyRow, of int) {
	for _, l := range looks {
		of += len(l.Keys)
		for _, k := range l.Keys[:min(keysShown, len(l.Keys))] {
			k.Key = ending(k.Key)
			rows = append(rows, templates.KeyRow(k))
		}
	}
	return rows, of
}

// A Part of a store is where a site has its data.
type Part struct{ Kind, Tenant string }

func (p Part) words() string {
	words := "Everything is in one store"
	if p.Kind != "" {
		words += " (" + p.Kind + ")"
	}
	if p.Tenant != "" {
		words += ", under keys that start with " + p.prefix()
	}
	return words + "."
}

// prefix returns what the store adds to keys.
func (p Part) prefix() string {
	if p.Tenant == "" {
		return ""
	}
	return kv.JoinText(p.Tenant) + ":"
}

// beginning returns what the keys of a picture have in common.
func (p Part) beginning(l *ashiato.Look) string {
	if len(l.Keys) == 0 {
		return ""
	}
	key := p.prefix() + strings.TrimSuffix(l.Keys[0].Key, lastPart(l.Keys[0].Key))
	if len(key) <= longestBeginning {
		return key
	}
	return strings.ToValidUTF8(key[:longestBeginning], "") + "…"
}

// lastPart returns the part in which the keys of one picture differ.
func lastPart(key string) string { return key[strings.LastIndexByte(key, ':')+1:] }

// How many bytes of a key are shown, so that none takes two lines on a phone.
const (
	longestBeginning = 32
	longestEnding    = 10
)

// ending returns the end of a key, in which it differs from those beside it.
func ending(key string) string {
	end := lastPart(key)
	end = end[max(0, strings.LastIndexByte(end, '#')):]
	for len(end) > longestEnding {
		_, size := utf8.DecodeRuneInString(end)
		end = end[size:]
	}
	return "…" + end
}
