package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/ranking/collation"
)

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
				_, err := kv.One(t.Context(), mem, kv.OpDelete(key))
				must(t, err)
			}
		}
		check := ofWords(t, mem, "check")
		if check.code == 0 || !strings.Contains(check.out, "TitleAZ") {
			t.Errorf("the root of a board of words is gone, and nobody says so: %d\n%s", check.code, check.out)
		}
	})
}
