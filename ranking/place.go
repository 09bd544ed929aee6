package ranking

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// place is where a record belongs: in the board of which value, and at which
// score. The write path knows it as a text.
type place struct {
	by    string        // the value's text; "" for a board that is one alone
	score keytree.Score // 0 for a board by a counter, which has it elsewhere
	wrong string        // why the record cannot have a place; "" if it can
}

// The signs between the parts of a text are in no value's text.
const (
	scoreSign = "@"
	wrongSign = "!"
)

func (p place) String() string {
	if p.wrong != "" {
		return p.by + wrongSign + p.wrong
	}
	return p.by + scoreSign + strconv.FormatUint(uint64(p.score), 16)
}

func parsePlace(text string) (place, error) {
	if by, wrong, ok := strings.Cut(text, wrongSign); ok {
		return place{by: by, wrong: wrong}, nil
	}
	by, score, _ := strings.Cut(text, scoreSign)
	n, err := strconv.ParseUint(score, 16, 64)
	if err != nil {
		return place{}, fmt.Errorf("%w: place %q of a ranking", kvmodel.ErrCorrupt, text)
	}
	return place{by: by, score: keytree.Score(n)}, nil
}

// err returns why a record cannot have the place.
func (p place) err() error {
	if p.wrong == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", kvmodel.ErrInvalid, p.wrong)
}
