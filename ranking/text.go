package ranking

import (
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Collation puts texts in order, as people who speak a language expect it. Package collation
// has those of Unicode.
type Collation interface {
	// Name tells the order from all others. It is a part of the definition of a board, which
	// has to be rebuilt where it changes.
	Name() string

	// Word returns bytes in whose order texts stand, at most 64 and at least one. None are the
	// beginning of those of another text, unless both are the same.
	Word(text string) string

	// Prefix returns what the words of all texts that begin with the letters of text are
	// between: from low on and below high, which is empty if no bound is.
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

// Prefix returns the part of a board of texts with those that begin with the letters of text,
// whatever their case and their accents. All do with the empty text. The part of a board of
// anything else is ErrInvalid.
func (b *Board[T, K, S]) Prefix(text S) *Span[T] {
	span := &Span[T]{part: b.part}
	if !b.of.isText() {
		span.wrong = b.part.failure(fmt.Errorf("%w: only texts have a prefix", kvmodel.ErrInvalid))
		return span
	}
	span.part.between = b.of.prefix(text)
	return span
}

// score returns the score of a member. That of a text is in the record alone.
func (b *Board[T, K, S]) score(m keytree.Member) (score S) {
	if !b.of.isText() {
		return b.of.from(m.Score)
	}
	if m.Value != nil {
		score = b.text(m.Value.(*T))
	}
	return score
}
