package ranking

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// place is a record's position. The write path stores it as a text.
type place struct {
	by    string        // text of the value; "" with a single board
	score keytree.Score // 0 on a board by a counter
	wrong string        // why the record cannot be on the board
}

// No value's text contains these separators.
const (
	scoreSign = "@"
	wrongSign = "!"
	wordSign  = "=" // begins no reason in place.wrong
)

var wordText = base64.RawURLEncoding

// String returns by@score, by!wrong, with a tie by!@score@tie, or by!=word.
func (p place) String() string {
	score, tie := strconv.FormatUint(p.score.Uint(), 16), p.score.Tie()
	switch {
	case p.wrong != "":
		return p.by + wrongSign + p.wrong
	case p.score.Word() != "":
		return p.by + wrongSign + wordSign + wordText.EncodeToString([]byte(p.score.Word()))
	case tie == 0:
		return p.by + scoreSign + score
	}
	return p.by + wrongSign + scoreSign + score + scoreSign + strconv.FormatUint(tie, 16)
}

func parsePlace(text string) (place, error) {
	by, wrong, ok := strings.Cut(text, wrongSign)
	if word, isWord := strings.CutPrefix(wrong, wordSign); isWord {
		return placeOfWord(by, word, text)
	}
	if ok && !strings.HasPrefix(wrong, scoreSign) {
		return place{by: by, wrong: wrong}, nil
	}
	by, score, _ := strings.Cut(text, scoreSign)
	score, tie, tied := strings.Cut(score, scoreSign)
	n, err := strconv.ParseUint(score, 16, 64)
	var last uint64
	if err == nil && tied {
		last, err = strconv.ParseUint(tie, 16, 64)
	}
	if err != nil {
		return place{}, badPlace(text)
	}
	return place{by: strings.TrimSuffix(by, wrongSign), score: keytree.FromUint(n).WithTie(last)}, nil
}

func placeOfWord(by, word, text string) (place, error) {
	b, err := wordText.DecodeString(word)
	if err != nil || len(b) == 0 {
		return place{}, badPlace(text)
	}
	return place{by: by, score: keytree.FromWord(string(b))}, nil
}

func badPlace(text string) error {
	return fmt.Errorf("%w: place %q of a ranking", kvmodel.ErrCorrupt, text)
}

func (p place) err() error {
	if p.wrong == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", kvmodel.ErrInvalid, p.wrong)
}
