package whole

import "fmt"

var (
	Authors = []string{"ann", "bob", "cy"}
	Tags    = []string{"blue", "green", "red"}
	Rooms   = []string{"east", "west"}
	Kinds   = []string{"sale", "swap"}
	Users   = []string{"u1", "u2", "u3", "u4"}
	Owners  = []string{"o1", "o2"}
	Texts   = []string{"no", "yes"}
	Mottos  = []string{"m1", "m2"}
	Titles  = []string{"", "moss", "rain", "Rainbow", "réd"}

	WorkIDs  = Numbered("w", 12)
	OfferIDs = Numbered("f", 6)
	PieceIDs = Numbered("p", 6)
	PollIDs  = Numbered("q", 2)
)

const Shelves = 2

func Numbered(name string, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(name, i)
	}
	return ids
}
