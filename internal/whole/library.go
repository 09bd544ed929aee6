package whole

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Library is a database with every class of index.
type Library struct {
	*Models
	DB *kvmodel.DB
}

// Open returns the library in s. Errors after a reply are not logged, since tests provoke many.
func Open(s kv.Store, opts ...kvmodel.Option) (*Library, error) {
	db, err := kvmodel.Open(s, append([]kvmodel.Option{kvmodel.Log(slog.New(slog.DiscardHandler))}, opts...)...)
	if err != nil {
		return nil, err
	}
	return In(db), nil
}

func In(db *kvmodel.DB) *Library { return &Library{Models: New(db), DB: db} }

// Touch changes every counter of every work, so that boards catch up. Counts of a work's views
// today remain when it is deleted and created again.
func (l *Library) Touch(ctx context.Context, d *Diary) {
	w := NewWriter(l, 0, nil, d)
	w.name, w.own = "touch", ""
	r, err := l.read(ctx)
	if err != nil {
		return
	}
	for _, v := range r.works {
		if v.Views+r.today[v.ID] > 0 {
			_ = w.note("hit", v.ID, func() error { _, err := l.Works.Views.Hit(ctx, v.ID); return err })
		}
		_ = l.Likes.Create(ctx, &Like{User: "touch", Work: v.ID})
		_ = l.Likes.Delete(ctx, LikeID{User: "touch", Work: v.ID})
	}
}

// NewBare returns the model in a release that keeps only the records, and knows gone.
func NewBare(db *kvmodel.DB, model string, gone kvmodel.Gone) kvmodel.Model {
	text := kvmodel.StringKey[string]()
	switch model {
	case "Work":
		return kvmodel.NewRecords(db, kvmodel.Schema[Work, string]{Name: model, Version: 2, Key: text, Codec: &workCodec, Gone: gone})
	case "Offer":
		return kvmodel.NewRecords(db, kvmodel.Schema[Offer, string]{Name: model, Version: 1, Key: text, Codec: &offerCodec, Gone: gone})
	case "Piece":
		return kvmodel.NewRecords(db, kvmodel.Schema[Piece, string]{Name: model, Version: 1, Key: text, Codec: &pieceCodec, Gone: gone})
	case "Like":
		return kvmodel.NewRecords(db, kvmodel.Schema[Like, string]{Name: model, Version: 1, Key: text, Codec: &likeCodec, Gone: gone})
	default:
		return kvmodel.NewRecords(db, kvmodel.Schema[Ticket, int]{Name: model, Version: 1, Key: kvmodel.IntKey[int](), Codec: &ticketCodec, Sequential: true, Gone: gone})
	}
}

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
