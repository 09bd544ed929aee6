package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/ranking/collation"
	"github.com/ringtree/ringtree/timeline"
)

func manyNotes(t *testing.T, db *kvmodel.DB, n int) {
	t.Helper()
	some := make([]*note, n)
	for i := range some {
		some[i] = &note{ID: fmt.Sprintf("n%04d", i), Title: fmt.Sprint("Title ", i), Tags: []string{fmt.Sprint("tag", i%10)}}
	}
	must(t, newNotes(db).CreateMulti(t.Context(), some))
	must(t, db.Flush(t.Context()))
}

func TestCheck_DamageConcernsOnlyTheRecordsThatItHits(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		manyNotes(t, db, 300)
		for _, key := range []string{"u:Note:ByTitle:Title%207", "l:Note:ByTags:tag3#0"} {
			if _, err := kv.One(t.Context(), mem, kv.OpSet(key, []byte("?"))); err != nil {
				t.Fatal(key, err)
			}
		}
		r, err := inspect.New(db).Check(t.Context(), inspect.CheckOptions{})
		must(t, err)
		must(t, db.Close(t.Context()))
		got := make(map[string][]string) // by index
		for _, f := range r.Faults {
			if f.ID != "" {
				got[f.Index] = append(got[f.Index], f.ID)
			}
		}
		want := map[string][]string{"ByTitle": {"n0007"}}
		for i := 3; i < 300; i += 10 {
			want["ByTags"] = append(want["ByTags"], fmt.Sprintf("n%04d", i))
		}
		proof.NoDiff(t, cmp.Diff(want, got), "mismatch")
	})
}

// The key of such a record has a hash in the place of its id.
func TestCheck_ADamagedRecordThatCannotSayItsIDIsNamedByItsKey(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		store := powers{mem, mem.Powers()}
		db := open(t, store)
		r, id := newNotes(db), strings.Repeat("x", 200)
		for _, id := range []string{"n", id, "also " + id} {
			must(t, r.Create(t.Context(), &note{ID: id}))
		}
		key := kv.NewClass("r", 2).Key("Note", id)
		proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet(key, []byte("?"))))
		must(t, db.Close(t.Context()))
		for range 2 {
			runIn(t.Context(), on(store, "check")).want(t, 1, "damaged record", key, "2 records")
			runIn(t.Context(), on(store, "check", "--repair", "--yes")).want(t, 1, "damaged record", key)
		}
	})
}

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

type shelved struct {
	*kvmodel.Records[note, string]
	titles *ranking.Board[note, string, string]
}

func newShelved(db *kvmodel.DB) shelved {
	r := kvmodel.NewRecords(db, noteSchema())
	spec := ranking.Spec[note, string]{
		Name: "TitleAZ", Def: "ranking Title words", Of: ranking.Text[string](collation.Of("")), Low: true,
		Score: func(n *note) string { return n.Title },
	}
	titles := ranking.NewBoard(r, spec)
	spec.Name, spec.Def, spec.Score = "EmailAZ", "ranking Email words", func(n *note) string { return n.Email }
	ranking.NewBoard(r, spec)
	return shelved{r, titles}
}

func onShelves(t *testing.T) *memkv.Store {
	t.Helper()
	mem := memkv.New(memkv.Options{})
	db := open(t, shared(mem))
	all := newShelved(db)
	for i, title := range []string{"Tides", "élan", "Snow", "Elan", "snow"} {
		must(t, all.Create(t.Context(), &note{ID: fmt.Sprint("n", i), Title: title, Email: "ann@example.org"}))
	}
	must(t, db.Close(t.Context()))
	return mem
}

func ofWords(t *testing.T, mem *memkv.Store, args ...string) ran {
	t.Helper()
	c := on(shared(mem), args...)
	c.Models = func(db *kvmodel.DB) []kvmodel.Model { return []kvmodel.Model{newShelved(db)} }
	return runIn(t.Context(), c)
}

func TestList_OfWordsShowsThemInOrder(t *testing.T) {
	mem := onShelves(t)
	page := ofWords(t, mem, "list", "Note.TitleAZ")
	last := -1
	for _, title := range []string{`n3  "Elan"`, `n1  "élan"`, `n4  "snow"`, `n2  "Snow"`, `n0  "Tides"`} {
		at := strings.Index(page.out, title)
		if at <= last {
			t.Errorf("%s is not where it should be:\n%s", title, page.out)
		}
		last = max(last, at)
	}
	ofWords(t, mem, "ls", "Note").want(t, 0, "Note.TitleAZ", "board")
	ofWords(t, mem, "ls", "Note.TitleAZ").want(t, 0, "rank:Note:TitleAZ.words:root.")
}

func TestList_OfWordsThatArePrivateMasksThem(t *testing.T) {
	page := ofWords(t, onShelves(t), "list", "Note.EmailAZ")
	page.want(t, 0, "n1", inspect.Masked)
	if strings.Contains(page.out, "ann") {
		t.Errorf("what is private is shown:\n%s", page.out)
	}
}

func TestCheck_OfWordsFindsThatTheRootIsGone(t *testing.T) {
	inTime(t, func(t *testing.T) {
		mem := onShelves(t)
		ofWords(t, mem, "check").want(t, 0)
		for _, key := range mem.Keys() {
			if strings.HasPrefix(key, "rank:Note:TitleAZ.words:") && strings.HasSuffix(key, ":key0") {
				proof.Done(t)(kv.One(t.Context(), mem, kv.OpDelete(key)))
			}
		}
		check := ofWords(t, mem, "check")
		if check.code == 0 || !strings.Contains(check.out, "TitleAZ") {
			t.Errorf("the root of a board of words is gone, and nobody says so: %d\n%s", check.code, check.out)
		}
	})
}
