package collation

import (
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// Each mistake puts a text in a place that is not its own.
func TestMistakes_OfOrderAreNoticed(t *testing.T) {
	const dir = "ranking/collation/"
	proof.Mistakes(t, "./ranking/collation", "TestWord|TestPrefix|TestCodes", nil, []proof.Mistake{
		proof.Wrong("a level does not say where it stands",
			dir+"writer.go", "	case 1:\n		w.bits(0b1, 1)", "	case 1:\n		w.bits(0b00, 2)",
		),
		proof.Wrong("letters have no end",
			dir+"collation.go", "		w.weight(letterCodes(), end)\n		w.level(accent", "		w.level(accent",
		),
		proof.Wrong("a level has no end",
			dir+"writer.go", "	w.weight(codes, end)\n", "",
		),
		proof.Wrong("great weights are read as two",
			dir+"levels.go", "if w>>15 == 1 && len(key) > 2 {", "if false {",
		),
		proof.Wrong("a word is cut between its weights",
			dir+"writer.go", "	w.bits(c.bits, c.n)\n", "	if w.n+c.n+c.rest > maxBits {\n		return\n	}\n	w.bits(c.bits, c.n)\n",
		),
		proof.Wrong("a part has no bound above",
			dir+"writer.go", "			return string(next[:at/8+1])", "			return \"\"",
		),
		proof.Wrong("a prefix has accents",
			dir+"collation.go", "		low, high = string(w.bytes), w.next()", "		w.level(accentCodes(), l.accents, plainAccent, len(l.letters))\n		low, high = string(w.bytes), w.next()",
		),
		proof.Wrong("the rare have a bit too few",
			dir+"codes.go", "bits.Len(uint(c.high - c.low))})", "bits.Len(uint(c.high-c.low)/2)})",
		),
	})
}
