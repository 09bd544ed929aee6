package inspect_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func inTime(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }

func boltStore(t testing.TB, url string) kv.Store {
	t.Helper()
	s, err := kvopen.Store(t.Context(), url)
	must(t, err)
	return s
}

// draft is a model that the command under test does not have.
type draft struct{ ID string }

func newDrafts(db *kvmodel.DB) *kvmodel.Records[draft, string] {
	return kvmodel.NewRecords(db, kvmodel.Schema[draft, string]{
		Name: "Draft", Version: 1, ID: func(d *draft) string { return d.ID }, SetID: func(d *draft, id string) { d.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packed[draft]{},
	})
}

func draftsByID(all *kvmodel.Records[draft, string]) {
	index.NewUnique(all, kvmodel.IndexSpec[draft, string]{
		Name: "ByID", Def: "unique ID", Fields: []string{"ID"}, Key: kvmodel.StringKey[string](),
		Values: func(d *draft) []string { return []string{d.ID} },
	})
}

func draftsIn(t testing.TB, mem *memkv.Store) {
	t.Helper()
	db := open(t, shared(mem))
	must(t, newDrafts(db).Create(t.Context(), &draft{ID: "d1"}))
	must(t, db.Close(t.Context()))
}

func TestStatus_ShowsModelsIndexesAndProcesses(t *testing.T) {
	run(t, furnished(t), "status").wantOut(t, 0, `store      test://here

model  records  bytes   version  indexes
Note   ~3       ~207 B  2        ByTags  ByTitle

processes  none writes
all is well
`)
	all := run(t, furnished(t), "status", "--format=json").objects(t)
	model := all[0]["models"].([]any)[0].(map[string]any)
	if len(all) != 1 || all[0]["type"] != "status" || all[0]["store"] != "test://here" || model["model"] != "Note" || model["records"] != 3.0 || len(model["indexes"].([]any)) != 2 {
		t.Errorf("as objects: %v", all)
	}
}

func TestStatus_WhatIsNotBuiltIsAWarningWithTheVerbThatHelps(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	fillWithoutIndexes(t, mem)
	run(t, mem, "status").want(t, 1, "ByTitle: NOT BUILT", "warning    Note.ByTags is not built", "next       db build Note")
	run(t, mem, "status", "--format=json").want(t, 1, `"next":"build Note"`, `"state":"not built"`)
}

func TestStatus_WatchShowsItAgainUntilItIsStopped(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ctx, cancel := contextFor(t, 5e9)
		defer cancel()
		r := runIn(ctx, on(shared(furnished(t)), "status", "--watch"))
		if n := strings.Count(r.out, "all is well"); n != 3 || r.code != 0 {
			t.Errorf("exit code %d, shown %d times:\n%s%s", r.code, n, r.out, r.errs)
		}
	})
}

func TestLs_ListsModelsIndexesAndValues(t *testing.T) {
	mem := furnished(t)
	run(t, mem, "ls").wantOut(t, 0, `model  records  bytes   version  indexes
Note   ~3       ~207 B  2        ByTags  ByTitle
`)
	run(t, mem, "ls", "Note").wantOut(t, 0, `index         kind    state
Note.ByTags   list    built
Note.ByTitle  unique  built
`)
	r := run(t, mem, "ls", "Note.ByTags", "--format=json")
	if all := r.objects(t); r.code != 0 || len(all) != 3 || all[0]["part"] != "l:Note:ByTags:sea" {
		t.Errorf("exit code %d: %s", r.code, r.out)
	}
	run(t, mem, "ls", "Note.ByTags").want(t, 0, "l:Note:ByTags:hills", "l:Note:ByTags:woods")
	run(t, mem, "ls", "--format=json").want(t, 0, `{"v":1,"type":"model","model":"Note"`)
	run(t, mem, "ls", "Note", "--format=json").want(t, 0, `{"v":1,"type":"index","index":"Note.ByTags","kind":"list","state":"built"}`)
}

func TestGet_ShowsFieldsCountersAndPlaces(t *testing.T) {
	mem := furnished(t)
	r := run(t, mem, "get", "Note", "n1")
	r.want(t, 0, "Note n1   live   rev ", "version 2", "expires never", `Title    "Tides"`, `Tags     ["sea"]`, "Views    7 (a counter)",
		"ByTitle  u:Note:ByTitle:Tides   ok", "ByTags   l:Note:ByTags:sea   ok", "Email    ***")
	if strings.Contains(r.out, "ann@") {
		t.Error("it shows a private field")
	}
	run(t, mem, "get", "Note", "n1", "--private").want(t, 0, `Email    "ann@example.org"`)
	all := run(t, mem, "get", "--format=json", "Note", "n1").objects(t)
	fields := map[string]any{"ID": "n1", "Title": "Tides", "Tags": []any{"sea"}, "Email": "***"}
	proof.NoDiff(t, cmp.Diff(fields, all[0]["fields"]), "fields")
}

func TestGet_WhatIsNotThereExitsWith1(t *testing.T) {
	mem := furnished(t)
	run(t, mem, "get", "Note", "n9").wantOut(t, 1, "Note n9: there is none\n")
	run(t, mem, "get", "Note", "n9", "--format=json").want(t, 1, `"state":"absent"`)
}

func TestGet_APlaceThatIsWrongSaysSo(t *testing.T) {
	mem := furnished(t)
	drop(t, mem, "u:Note:ByTitle:Tides")
	run(t, mem, "get", "Note", "n1").want(t, 1, "ByTitle  u:Note:ByTitle:Tides   WRONG: ", "next: db check --repair Note")
	all := run(t, mem, "get", "Note", "n1", "--format=json").objects(t)
	if place := all[0]["places"].([]any)[0].(map[string]any); place["wrong"] == nil {
		t.Errorf("%v", place)
	}
}

func TestList_ShowsRowsAndWhatTheyCost(t *testing.T) {
	mem := furnished(t)
	run(t, mem, "list", "Note.ByTitle/Moss").want(t, 0, "  1  n3", "1 row of Note.ByTitle/Moss (unique)")
	run(t, mem, "list", "Note.ByTags/sea").want(t, 0, "  1  n", "2 rows of Note.ByTags/sea (list), for ")
	run(t, mem, "list", "Note.ByTags/sea", "1").want(t, 0, "1 row of Note.ByTags/sea (list)")
	all := run(t, mem, "list", "Note.ByTags/sea", "--format=json").objects(t)
	if rows := all[0]["rows"].([]any); len(rows) != 2 || all[0]["value"] != "sea" {
		t.Errorf("%v", all)
	}
}

func TestGet_OfAKeySaysWhoseItIsAndWhatItHolds(t *testing.T) {
	mem := furnished(t)
	run(t, mem, "get", "--key", "r:Note:n2").want(t, 0, "r:Note:n2   ", "Note.records", "Note n2   live")
	run(t, mem, "get", "--key", "u:Note:ByTitle:Moss", "--private").want(t, 0, "Note.ByTitle", "00000000  ")
	run(t, mem, "get", "--key", "u:Note:ByTitle:Moss", "--private", "--format=json").want(t, 0, `"hex":"`)
	run(t, mem, "get", "--key", "r:Note:n9").want(t, 1, "absent")
	run(t, mem, "get", "--key", "ringtree{b}").want(t, 1, "ringtree{b}   absent   boot\n")
	run(t, mem, "get", "--key", "r:Draft:d1").want(t, 1, "Draft.records (unknown to this program)")
	if r := run(t, mem, "get", "--key", "r:Note:n1"); r.code != 0 || strings.Contains(r.out, "ann@") || strings.Contains(r.out, "00000000") {
		t.Errorf("bytes are shown though nobody has asked: exit code %d: %s", r.code, r.out)
	}
	// Keys of sessions and limits are no other program's.
	for key, owner := range map[string]string{
		"session:x": "sessions", "sessions:heron": "sessions", "generation:heron": "sessions", "limit:sign-in-of:heron:7": "limits",
	} {
		run(t, mem, "get", "--key", key).wantOut(t, 1, key+"   absent   "+owner+"\n")
	}
}

func TestLs_SizesOfAModelThatIsUnknownAreMarked(t *testing.T) {
	mem := furnished(t)
	draftsIn(t, mem)
	run(t, mem, "ls", "--sizes").want(t, 0, "Note.records", "Draft.records (unknown to this program)", "in all")
	known := map[any]any{}
	for _, o := range run(t, mem, "ls", "--sizes", "--format=json").objects(t) {
		known[o["model"].(string)+"."+o["part"].(string)] = o["known"]
	}
	if known["Note.records"] != true || known["Draft.records"] != false {
		t.Errorf("%v", known)
	}
	run(t, mem, "check").want(t, 0, "keys are not of this program's models", "all is well")
	run(t, mem, "get", "Draft", "d1").want(t, 2, `unknown model "Draft"`)
}

func TestLs_SizesOfAStoreThatCannotListItsKeysRefuses(t *testing.T) {
	runIn(t.Context(), on(unkeyed(furnished(t)), "ls", "--sizes")).want(t, 5, "the store cannot list its keys")
	runIn(t.Context(), on(unkeyed(furnished(t)), "ls", "Note.ByTags")).want(t, 5, "the store cannot list its keys")
}

func TestList_OfAnIndexByValueWantsOne(t *testing.T) {
	mem := furnished(t)
	run(t, mem, "list", "Note.ByTags").want(t, 2, "the value is missing: pass Note.ByTags/VALUE")
	run(t, mem, "list", "Note.ByTags/none").want(t, 0, "0 rows")
	db := open(t, shared(mem))
	newNotes(db)
	h, err := inspect.Handler(inspect.New(db), inspect.HandlerOptions{Guard: func(*http.Request) error { return nil }})
	must(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/index?index=Note.ByTags", nil))
	proof.Contains(t, w.Body.String(), "Enter one below.")
}

func TestGet_OfWhatIsNoIDSaysSo(t *testing.T) {
	c := on(shared(memkv.New(memkv.Options{})), "get", "Note", "abc")
	c.Models = func(db *kvmodel.DB) []kvmodel.Model {
		return []kvmodel.Model{kvmodel.NewRecords(db, kvmodel.Schema[note, int64]{
			Name: "Note", Version: 1, ID: func(*note) int64 { return 1 }, SetID: func(*note, int64) {}, Key: kvmodel.IntKey[int64](), Codec: packed[note]{},
		})}
	}
	runIn(t.Context(), c).want(t, 2, `"abc" is not an id of Note`)
	c.Args[2] = "7"
	runIn(t.Context(), c).want(t, 1, "there is none")
}

func statusOf(t *testing.T, s kv.Store, models ...func(*kvmodel.DB)) inspect.Status {
	t.Helper()
	db := open(t, s)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	for _, add := range models {
		add(db)
	}
	st, err := inspect.New(db).Status(t.Context())
	must(t, err)
	return st
}

func withNotes(db *kvmodel.DB) { newNotes(db) }

func TestStatus_WhatIsLostIsAFindingAndNoError(t *testing.T) {
	s := client{newServer(furnished(t))}
	s.lost.Store(true)
	st := statusOf(t, s, withNotes)
	if !errors.Is(st.Lost, kv.ErrLost) || st.Next != "recover" || len(st.Models) != 1 || st.Stats.Lost != 1 {
		t.Errorf("%+v", st)
	}
	if m := st.Models[0]; !errors.Is(m.Err, kv.ErrLost) || m.Name != "Note" || m.Version != 2 {
		t.Errorf("the model: %+v", m)
	}
	proof.Contains(t, strings.Join(st.Warnings, "\n"), "1 server has lost its memory")
}

func TestStatus_NextIsWhatHelpsAll(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	fillWithoutIndexes(t, mem)
	draftsIn(t, mem)
	indexedDrafts := func(db *kvmodel.DB) { draftsByID(newDrafts(db)) }
	if st := statusOf(t, shared(mem), withNotes); st.Next != "build Note" {
		t.Errorf("of one model that is not built: want build Note, got %q", st.Next)
	}
	if st := statusOf(t, shared(mem), withNotes, indexedDrafts); st.Next != "build" {
		t.Errorf("of two: want build, got %q", st.Next)
	}
	// A damaged record comes before an index that is not built.
	proof.Done(t)(kv.One(t.Context(), mem, kv.OpSet("r:Draft:d1", []byte("?"))))
	if st := statusOf(t, shared(mem), withNotes, indexedDrafts); st.Next != "check Draft" {
		t.Errorf("with a damaged record: want check Draft, got %q", st.Next)
	}
}
