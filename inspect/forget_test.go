package inspect_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type pair struct{ A, B string }

type attic struct {
	ID                         string
	Text, Sentence, Begin, End string
	Texts                      []string
	Keys, Values               map[string]string
	Bytes                      []byte
	Nested                     struct{ Deep []map[string][]string }
	Pointer                    *string
	Pair                       pair
	Signed                     int64
	Unsigned                   uint8
	Numbers                    []int32
	ByNumber                   map[int]string
	When                       time.Time
	Score                      float64
}

func attics(db *kvmodel.DB) *kvmodel.Records[attic, string] {
	return kvmodel.NewRecords(db, kvmodel.Schema[attic, string]{
		Name: "Attic", Version: 1, ID: func(a *attic) string { return a.ID }, SetID: func(a *attic, id string) { a.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packed[attic]{},
	})
}

func traced(t *testing.T, a attic, n note, id string, more ...string) (traces []inspect.Trace) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		db := open(t, shared(memkv.New(memkv.Options{})))
		all, rooms := newNotes(db), attics(db)
		must(t, rooms.Put(t.Context(), &a))
		if n.ID != "" {
			must(t, all.Put(t.Context(), &n))
		}
		must(t, db.Flush(t.Context()))
		var err error
		traces, err = inspect.New(db).Traces(t.Context(), "Note", id, inspect.Pace{}, more...)
		must(t, err)
		must(t, db.Close(t.Context()))
	})
	return traces
}

func fieldsIn(traces []inspect.Trace) []string {
	fields := make(map[string]bool)
	for _, trace := range traces {
		if trace.Owner == "Attic.records" {
			fields[trace.Field] = true
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

func value(n int) string { return ("jane.q@" + strings.Repeat("example-", n/8+1))[:n-1] + "g" }

func TestForget_FindsATextOfAnyLengthInEveryField(t *testing.T) {
	for n := 1; n <= 300; n += 1 + n/40 {
		text := value(n)
		a := attic{
			ID: "a1", Text: text, Sentence: "by " + text + ", and others " + strings.Repeat("and ", 30), Begin: text + ": " + strings.Repeat("of ", 30),
			End: strings.Repeat("of ", 30) + text, Texts: []string{"one", text}, Keys: map[string]string{text: "one"}, Values: map[string]string{"one": text},
			Bytes: []byte(text), Pointer: &text,
		}
		a.Nested.Deep = []map[string][]string{{"one": {"two", text}}}
		traces := traced(t, a, note{ID: "n7", Title: "Seven", Tags: []string{text}}, kv.JoinText(text))
		want := []string{"Begin", "Bytes", "End", "Keys", "Nested", "Pointer", "Sentence", "Text", "Texts", "Values"}
		proof.NoDiff(t, cmp.Diff(want, fieldsIn(traces)), "%d bytes", n)
		if !slices.ContainsFunc(traces, func(trace inspect.Trace) bool { return strings.HasPrefix(trace.Key, "l:Note:ByTags:") }) {
			t.Errorf("%d bytes: the list of it is not found", n)
		}
	}
}

func TestForget_FindsWhatIsNoTextAsTheIDSaysIt(t *testing.T) {
	a := attic{
		ID: "a1", Signed: -77, Unsigned: 77, Numbers: []int32{1, 77}, ByNumber: map[int]string{77: "x"}, Pair: pair{"ann lee", "77"},
		When: time.Unix(1_700_000_000, 0), Score: 2.5,
	}
	for id, want := range map[string][]string{
		"77":                   {"ByNumber", "Numbers", "Pair", "Unsigned"},
		"-77":                  {"Signed"},
		"2.5":                  {"Score"},
		"2023-11-14T22:13:20Z": {"When"},
		"ann%20lee:77":         {"Pair"},
		"ann%20lee":            {"Pair"},
	} {
		proof.NoDiff(t, cmp.Diff(want, fieldsIn(traced(t, a, note{}, id))), "%s", id)
		proof.NoDiff(t, cmp.Diff(want, fieldsIn(traced(t, a, note{}, "another", strings.ReplaceAll(id, "%20", " ")))), "%s as one more value", id)
	}
}

// A key that holds a hash of a long value, and a place that is escaped.
func TestForget_FindsWhatAKeyHidesInAHash(t *testing.T) {
	for _, text := range []string{value(200), strings.Repeat("ann lee ", 30)} {
		mem := memkv.New(memkv.Options{})
		db := open(t, shared(mem))
		newNotes(db)
		for _, key := range []string{"u:Note:ByTitle:", "l:Note:ByTags:", "r:Note:", "h:Note:", "n:Note:Views:"} {
			class, rest, _ := strings.Cut(key, ":")
			parts := append(strings.Split(strings.TrimSuffix(rest, ":"), ":"), text)
			must(t, mem.Do(t.Context(), []kv.Op{kv.OpSet(kv.NewClass(class, len(parts)).Key(parts...), []byte("\xff damaged"))}))
		}
		traces, err := inspect.New(db).Traces(t.Context(), "Note", "n9", inspect.Pace{}, text)
		must(t, err)
		proof.Len(t, traces, 5, "traces")
		must(t, db.Close(t.Context()))
	}
}

func TestForget_APartOfAWordIsNoTrace(t *testing.T) {
	text := "In 1977 Joanne wrote 17:30 on page 277; " + strings.Repeat("she wrote on. ", 20)
	a := attic{ID: "a1", Text: text, Signed: 771, Pair: pair{"177", "277"}, Texts: []string{"Joanne"}}
	for _, id := range []string{"7", "77", "ann", "Joann", "x", "q"} {
		if traces := traced(t, a, note{ID: "n8", Title: "Joanne"}, id); len(traces) > 0 {
			t.Errorf("%s: found %v", id, traces)
		}
	}
}

// The bytes of damaged items, and of items in an unknown format, are searched as they are.
func TestForget_FindsATextInWhatItCannotDecode(t *testing.T) {
	for n := 1; n <= 300; n += 7 {
		tombstone := (&envelope.Envelope{Deleted: true, Lost: []envelope.Touched{{Index: "ByMail", Places: []string{value(n)}}}}).Encode(nil)
		for what, item := range map[string][]byte{"a tombstone": tombstone, "a tombstone that is cut": tombstone[:len(tombstone)-4]} {
			mem := memkv.New(memkv.Options{})
			db := open(t, shared(mem))
			attics(db)
			must(t, mem.Do(t.Context(), []kv.Op{kv.OpSet("r:Attic:a1", item)}))
			newNotes(db)
			traces, err := inspect.New(db).Traces(t.Context(), "Note", value(n), inspect.Pace{})
			must(t, err)
			if len(traces) == 0 {
				t.Errorf("%s with %d bytes: not found", what, n)
			}
			must(t, db.Close(t.Context()))
		}
	}
}
