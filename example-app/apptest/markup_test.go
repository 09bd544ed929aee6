package apptest

import (
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tag is a start or end tag, or a comment, as a browser finds it in a page.
type tag struct {
	name  string // "/p" of an end, "!" of a comment or doctype
	attrs map[string]string
	text  string // up to the next tag
}

// tags returns the tags of a page in order. It parses as browsers do, so whatever
// breaks out of a text or an attribute is a tag or an attribute here too.
func tags(page string) []tag {
	var all []tag
	for page != "" {
		at := tagAt(page)
		if len(all) > 0 {
			all[len(all)-1].text = html.UnescapeString(page[:at])
		}
		if at == len(page) {
			break
		}
		var next tag
		next, page = readTag(page[at:])
		all = append(all, next)
		// Inside these elements, only their own end tag counts.
		if slices.Contains([]string{"script", "style", "textarea", "title"}, next.name) {
			end := strings.Index(strings.ToLower(page), "</"+next.name)
			if end < 0 {
				end = len(page)
			}
			all[len(all)-1].text, page = html.UnescapeString(page[:end]), page[end:]
			if page != "" {
				next, page = readTag(page)
				all = append(all, next)
			}
		}
	}
	return all
}

// tagAt returns the index of the next tag, or the page's length.
func tagAt(page string) int {
	for i := range len(page) - 1 {
		if c := page[i+1] | 0x20; page[i] == '<' && ('a' <= c && c <= 'z' || strings.IndexByte("/!?", page[i+1]) >= 0) {
			return i
		}
	}
	return len(page)
}

// readTag returns the tag at the start of page, and the rest.
func readTag(page string) (tag, string) {
	if page[1] == '!' || page[1] == '?' {
		end := ">"
		if strings.HasPrefix(page, "<!--") {
			end = "-->"
		}
		_, rest, _ := strings.Cut(page, end)
		return tag{name: "!"}, rest
	}
	end := 2 + strings.IndexAny(page[2:], " \t\r\n\f/>")
	if end == 1 {
		return tag{name: page[1:]}, ""
	}
	found := tag{name: strings.ToLower(page[1:end]), attrs: map[string]string{}}
	page = page[end:]
	for {
		page = strings.TrimLeft(page, " \t\r\n\f/")
		if page == "" || page[0] == '>' {
			return found, strings.TrimPrefix(page, ">")
		}
		var name, value string
		name, value, page = readAttr(page)
		if _, twice := found.attrs[name]; !twice {
			found.attrs[name] = html.UnescapeString(value)
		}
	}
}

func readAttr(page string) (name, value, rest string) {
	end := strings.IndexAny(page[1:], " \t\r\n\f/>=") + 1
	if end == 0 {
		return strings.ToLower(page), "", ""
	}
	name, rest = strings.ToLower(page[:end]), strings.TrimLeft(page[end:], " \t\r\n\f")
	if !strings.HasPrefix(rest, "=") {
		return name, "", page[end:]
	}
	rest = strings.TrimLeft(rest[1:], " \t\r\n\f")
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		value, rest, _ = strings.Cut(rest[1:], rest[:1])
		return name, value, rest
	}
	end = strings.IndexAny(rest, " \t\r\n\f>")
	if end < 0 {
		end = len(rest)
	}
	return name, rest[:end], rest[end:]
}

// shape returns the tags of a page with the names of their attributes, without any
// text or value.
func shape(page string) []string {
	var all []string
	for _, t := range tags(page) {
		all = append(all, t.shape())
	}
	return all
}

func (t tag) shape() string {
	names := slices.Sorted(maps.Keys(t.attrs))
	return strings.Join(append([]string{t.name}, names...), " ")
}

// form is a form of a page, with the fields that it would send.
type form struct {
	method, action string
	fields         map[string]string
	buttons        []string
}

// forms returns the forms of a page. It leaves out buttons and fields that stand
// outside their form.
func forms(page string) []form {
	var all []form
	open := false
	for _, t := range tags(page) {
		switch {
		case t.name == "form":
			all = append(all, form{strings.ToUpper(t.attrs["method"]), t.attrs["action"], map[string]string{}, nil})
			open = true
		case t.name == "/form":
			open = false
		case !open:
		case t.name == "input" && t.attrs["type"] == "checkbox" && !has(t.attrs, "checked"):
		case t.name == "input":
			all[len(all)-1].fields[t.attrs["name"]] = t.attrs["value"]
		case t.name == "textarea":
			all[len(all)-1].fields[t.attrs["name"]] = strings.TrimPrefix(t.text, "\n")
		case t.name == "button":
			all[len(all)-1].buttons = append(all[len(all)-1].buttons, strings.TrimSpace(t.text))
		}
	}
	return all
}

func has(attrs map[string]string, name string) bool { _, ok := attrs[name]; return ok }

// shown returns the text that a page shows, with single spaces.
func shown(page string) string {
	var all []string
	for _, t := range tags(page) {
		if t.name != "script" && t.name != "style" && t.name != "title" {
			all = append(all, t.text)
		}
	}
	return strings.Join(strings.Fields(strings.Join(all, " ")), " ")
}

func TestTags_FindsWhatABrowserFinds(t *testing.T) {
	for page, want := range map[string]string{
		`<p class="a" hidden>x &lt;b&gt;</p>`:             `p class hidden|/p`,
		`<p title="a"onclick="b">`:                        `p onclick title`,
		`<P TITLE='a"b' x=y/z>`:                           `p title x`,
		`<input value=""><script>a<b></script><i>`:        `input value|script|/script|i`,
		`<textarea></p></textarea ><img/src=x/onerror=y>`: `textarea|/textarea|img src`,
		`1 < 2 <3 <-`: ``,
		`<!doctype html><!-- <b> --><svg/onload=x>`: `!|!|svg onload`,
		`<a href="x" <b>`:         `a <b href`,
		`<title><b></title><br/>`: `title|/title|br`,
	} {
		if got := strings.Join(shape(page), "|"); got != want {
			t.Errorf("%s: want %s, got %s", page, want, got)
		}
	}
}

func TestForms_ReturnsWhatTheyWouldSend(t *testing.T) {
	page := `<form method="post" action="/a?b&amp;c"><input name="i" value="&quot;1"><input type="hidden" name="c" value=""><input type="checkbox" name="c" value="on"><input type="checkbox" name="d" value="on" checked><textarea name="t">
<b>&amp;</textarea><button>Go</button></form><button form="x">No</button>`
	want := []form{{"POST", "/a?b&c", map[string]string{"i": `"1`, "c": "", "d": "on", "t": "<b>&"}, []string{"Go"}}}
	if diff := cmp.Diff(fmt.Sprintf("%+v", want), fmt.Sprintf("%+v", forms(page))); diff != "" {
		t.Errorf("forms mismatch (-want +got):\n%s", diff)
	}
}
