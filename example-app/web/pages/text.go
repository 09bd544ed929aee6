package pages

import (
	"net/url"
	"regexp"
	"strings"
)

// What people write is a small part of Markdown. It is parsed into blocks and
// runs, which components write escaped: nothing of it is ever markup.

// A kind is what a block or run is.
type kind uint8

const (
	paragraph kind = iota
	heading
	quote
)

const (
	plain kind = iota
	emphasis
	code
	link
)

// block is a paragraph, a heading or a quote: lines of runs.
type block struct {
	kind  kind
	lines [][]run
}

// run is words of one kind within a line.
type run struct {
	kind kind
	text string
	to   string // of a link
}

var blank = regexp.MustCompile(`\n[ \t]*\n\s*`)

// blocks returns the blocks of a text: there is a blank line between them.
func blocks(text string) []block {
	var all []block
	for _, part := range blank.Split(strings.TrimSpace(text), -1) {
		all = append(all, blocksOf(strings.Split(part, "\n"))...)
	}
	return all
}

// blocksOf returns the blocks of lines without a blank one: headings are one
// line, and a quote ends where a line is none.
func blocksOf(lines []string) []block {
	var all []block
	for _, line := range lines {
		kind, words := kindOf(line)
		if words == "" {
			continue
		}
		last := len(all) - 1
		if last < 0 || kind == heading || all[last].kind != kind {
			all = append(all, block{kind: kind})
			last++
		}
		all[last].lines = append(all[last].lines, runs(words))
	}
	return all
}

// kindOf tells what a line is, and what it says.
func kindOf(line string) (kind, string) {
	line = strings.TrimSpace(line)
	for sign, kind := range map[string]kind{"## ": heading, "> ": quote} {
		if words, ok := strings.CutPrefix(line, sign); ok {
			return kind, strings.TrimSpace(words)
		}
	}
	return paragraph, line
}

// One of *emphasis*, `code` or [words](address).
var sign = regexp.MustCompile("\\*([^*\\s](?:[^*]*[^*\\s])?)\\*|`([^`]+)`|\\[([^\\]]+)\\]\\(([^()\\s]+)\\)")

// runs returns the runs of a line.
func runs(line string) []run {
	var all []run
	for {
		at := sign.FindStringSubmatchIndex(line)
		if at == nil {
			return appendPlain(all, line)
		}
		all = append(appendPlain(all, line[:at[0]]), runOf(line, at))
		line = line[at[1]:]
	}
}

func appendPlain(all []run, text string) []run {
	if text == "" {
		return all
	}
	return append(all, run{text: text})
}

// runOf returns the run that sign has found at the places at.
func runOf(line string, at []int) run {
	group := func(i int) string { return line[at[2*i]:at[2*i+1]] }
	switch {
	case at[2] >= 0:
		return run{kind: emphasis, text: group(1)}
	case at[4] >= 0:
		return run{kind: code, text: group(2)}
	case safe(group(4)):
		return run{kind: link, text: group(3), to: group(4)}
	}
	return run{text: line[at[0]:at[1]]}
}

// safe tells whether people may link to an address: to one of the web, or to a
// path of this site. Any other is shown as it was typed.
func safe(address string) bool {
	u, err := url.Parse(address)
	switch {
	case err != nil || strings.Contains(address, `\`):
		return false
	case u.Scheme == "http" || u.Scheme == "https":
		return u.Host != ""
	}
	return u.Scheme == "" && u.Host == "" && strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "//")
}
