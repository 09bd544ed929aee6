package ranking

import (
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Collation is the order of texts in a language. Package collation has the Unicode collations.
type Collation interface {
	// Name identifies the order. It is part of a board's definition: if it changes, the board must
	// be rebuilt.
	Name() string

	// Word returns 1 to 64 bytes that sort like text. No word is a prefix of another, except of an
	// equal one.
	Word(text string) string

	// Prefix returns the range low <= word < high of all texts that begin with the letters of text.
	// An empty high means no upper bound.
	Prefix(text string) (low, high string)
}

// Text is the ScoreOf of texts in the order of a collation. The empty text is no score.
func Text[S ~string](in Collation) ScoreOf[S] {
	return ScoreOf[S]{
		code:  keytree.Words,
		to:    func(s S) (keytree.Score, error) { return keytree.FromWord(in.Word(string(s))), nil },
		none:  func(s S) bool { return s == "" },
		order: in.Name(),
		prefix: func(s S) (b keytree.Between) {
			low, high := in.Prefix(string(s))
			from, to := keytree.FromWord(low), keytree.FromWord(high)
			if b.Low = &from; high != "" {
				b.High = &to
			}
			return b
		},
	}
}

// Prefix returns the texts on the board that begin with the letters of text, ignoring case and
// accents. The empty text selects all. On a board of other scores, reading the span returns
// ErrInvalid.
func (b *Board[T, K, S]) Prefix(text S) *Span[T] {
	span := &Span[T]{part: b.part}
	if !b.of.isText() {
		span.wrong = b.part.failure(fmt.Errorf("%w: only texts have a prefix", kvmodel.ErrInvalid))
		return span
	}
	span.part.between = b.of.prefix(text)
	return span
}
