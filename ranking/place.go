package ranking

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// place says where a record belongs: on which value's board and at which score.
// The write path knows it as a text.
type place struct {
	by    string        // the value's text; "" if there is only one board
	score keytree.Score // 0 for a board by a counter, whose members have records of their own
	wrong string        // why the record cannot be on the board; "" if it can
}

// No value's text contains the signs between the parts of a place.
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

// err returns why a record cannot be there.
func (p place) err() error {
	if p.wrong == "" {
		return nil
	}
	return fmt.Errorf("%w: %s", kvmodel.ErrInvalid, p.wrong)
}
