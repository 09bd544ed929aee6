package inspect_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// A visit expires, and is in an index of each class that takes such records.
type visit struct {
	ID, Token, User string
	Until           time.Time
}

type visits struct {
	*kvmodel.Records[visit, string]
	hits *index.Counter[string]
}

func newVisits(db *kvmodel.DB) visits {
	text := kvmodel.StringKey[string]()
	r := kvmodel.NewRecords(db, kvmodel.Schema[visit, string]{
		Name: "Visit", Version: 1,
		ID:       func(v *visit) string { return v.ID },
		SetID:    func(v *visit, id string) { v.ID = id },
		Key:      text,
		Codec:    packed[visit]{},
		Expires:  func(v *visit) *time.Time { return &v.Until },
		Counters: []kvmodel.CounterOf[visit]{{Name: "Hits", Set: func(*visit, int64) {}}},
	})
	user := func(v *visit) string { return v.User }
	by := kvmodel.By[visit, string]{Key: text, Value: user}
	index.NewUnique(r, kvmodel.IndexSpec[visit, string]{
		Name: "ByToken", Fields: []string{"Token"}, Key: text, Values: func(v *visit) []string { return []string{v.Token} },
	})
	index.NewLists(r, kvmodel.IndexSpec[visit, string]{
		Name: "ByUser", Fields: []string{"User"}, Key: text, Values: func(v *visit) []string { return []string{v.User} },
	})
	timeline.NewRing(r, timeline.Spec[visit]{Name: "Newest", Value: func(v *visit) string { return timeline.Text(v.Token) }})
	timeline.NewRings(r, timeline.Spec[visit]{Name: "NewestByUser"}, by)
	return visits{r, index.NewCounter(r, "Hits")}
}

// Records end all the time, at any moment of a check.
func TestCheck_RecordsThatHaveEndedAreNothingWrong(t *testing.T) {
	for name, with := range map[string]func(*memkv.Store) kv.Store{
		"shared": shared,
		"atomic": func(mem *memkv.Store) kv.Store { return powers{mem, mem.Powers()} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, db := t.Context(), open(t, with(memkv.New(memkv.Options{})))
				all, began := newVisits(db), time.Now()
				for i := range 12 { // One ends each quarter of a second.
					v := visit{ID: fmt.Sprint("v", i), Token: fmt.Sprint("t", i), User: "ann", Until: began.Add(time.Hour + time.Duration(i)*time.Second/4)}
					must(t, all.Create(ctx, &v))
					_, err := all.hits.Hit(ctx, v.ID)
					must(t, err)
					if i%2 == 0 {
						must(t, all.Touch(ctx, v.ID, v.Until.Add(time.Second/8)))
					}
				}
				must(t, all.Create(ctx, &visit{ID: "stays", Token: "stays", User: "ann", Until: began.Add(1000 * time.Hour)}))
				must(t, db.Flush(ctx))
				for at := range everyMoment {
					time.Sleep(time.Until(began.Add(at)))
					_, err := all.hits.Hit(ctx, "stays")
					must(t, err)
					must(t, db.Flush(ctx))
					asked := time.Now()
					r, err := inspect.New(db).Check(ctx, inspect.CheckOptions{})
					must(t, err)
					if !r.Well() {
						t.Errorf("after %v: %v", at, r.Faults)
					}
					if took := time.Since(asked); took > 0 {
						t.Errorf("after %v: it waited %v to look at something again", at, took)
					}
				}
				must(t, db.Close(ctx))
			})
		})
	}
}

// At these times visits have just expired, are about to go from the store, or have gone.
func everyMoment(yield func(time.Duration) bool) {
	for _, hours := range []time.Duration{1, 2, 25, 26} {
		for n := range time.Duration(18) {
			if !yield(hours*time.Hour - time.Second + n*400*time.Millisecond) {
				return
			}
		}
	}
}
