package kvmodel_test

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// there checks that each key of want has its text, and that the text parses to the key.
func there[K comparable](t *testing.T, key kvmodel.KeyOf[K], want map[K]string) {
	t.Helper()
	for k, text := range want {
		proof.Equal(t, key.Text(k), text, "the text of %#v", k)
		if got, err := key.Parse(text); err != nil || got != k {
			t.Errorf("the text %q became %#v, %v; want %#v", text, got, err, k)
		}
	}
	ks := slices.Collect(maps.Keys(want))
	for i, got := range kvmodel.TextsOf(key, ks) {
		if text := want[ks[i]]; got != text {
			t.Errorf("the text of %#v among others is %q, want %q", ks[i], got, text)
		}
	}
}

func nowhere[K comparable](t *testing.T, key kvmodel.KeyOf[K], texts ...string) {
	t.Helper()
	for _, text := range texts {
		if got, err := key.Parse(text); err == nil {
			t.Errorf("the text %q became %#v, want an error", text, got)
		}
	}
}

type (
	slug  string
	small int8
	tiny  uint8
	flag  bool
)

func TestKeyOf_StringsOfAnyBytesBecomeTextAndComeBack(t *testing.T) {
	there(t, kvmodel.StringKey[slug](), map[slug]string{
		"":                 "",
		"home":             "home",
		"a:b":              "a%3Ab",
		"a b{c}#%":         "a%20b%7Bc%7D%23%25",
		"é\x00\xff":        "%C3%A9%00%FF",
		"A-z_0.9~":         "A-z_0.9~",
		slug("\r\n\t ;,/"): "%0D%0A%09%20%3B%2C%2F",
	})
	nowhere(t, kvmodel.StringKey[slug](), "a:b", "a b", "%", "%4", "%zz", "%41", "%c3", "%3a", "é")
}

func TestKeyOf_NumbersAndBoolsComeBackWithinTheirRange(t *testing.T) {
	there(t, kvmodel.IntKey[int64](), map[int64]string{0: "0", -7: "-7", math.MinInt64: "-9223372036854775808"})
	there(t, kvmodel.IntKey[small](), map[small]string{127: "127", -128: "-128"})
	nowhere(t, kvmodel.IntKey[small](), "128", "-129", "", "x", "1:2", "9223372036854775808")
	there(t, kvmodel.IntKey[uint64](), map[uint64]string{0: "0", math.MaxUint64: "18446744073709551615"})
	there(t, kvmodel.IntKey[tiny](), map[tiny]string{255: "255"})
	nowhere(t, kvmodel.IntKey[tiny](), "256", "-1", "", "1.5")
	there(t, kvmodel.BoolKey[flag](), map[flag]string{true: "true", false: "false"})
	nowhere(t, kvmodel.BoolKey[flag](), "", "yes")
}

func TestKeyOf_ANumberOrBoolHasOneText(t *testing.T) {
	nowhere(t, kvmodel.IntKey[int](), "007", "%2B7", "-0", "-07", "-", "1_0")
	nowhere(t, kvmodel.IntKey[uint](), "00")
	nowhere(t, kvmodel.BoolKey[bool](), "1", "T", "TRUE")
}

func inOrder[K comparable](t *testing.T, key kvmodel.KeyOf[K], keys ...K) {
	t.Helper()
	for i, a := range keys {
		for j, b := range keys {
			if got := key.Compare(a, b); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%#v is compared with %#v as %d", a, b, got)
			}
		}
	}
}

func TestKeyOf_KeysAreOrderedAsTheirValuesAre(t *testing.T) {
	inOrder(t, kvmodel.StringKey[slug](), "", "Go", "a b", "a%", "ab", "go", "é")
	inOrder(t, kvmodel.IntKey[small](), -128, -9, 0, 2, 10, 127)
	inOrder(t, kvmodel.IntKey[uint64](), 0, 9, 10, math.MaxUint64)
	inOrder(t, kvmodel.BoolKey[flag](), false, true)
	type place struct {
		Room  string
		Shelf int
		Left  bool
	}
	key := kvmodel.Key3(kvmodel.StringKey[string](), kvmodel.IntKey[int](), kvmodel.BoolKey[bool](),
		func(p place) (string, int, bool) { return p.Room, p.Shelf, p.Left },
		func(room string, shelf int, left bool) place { return place{room, shelf, left} })
	inOrder(t, key, place{"east", 9, true}, place{"east", 10, false}, place{"east", 10, true}, place{"west", 1, false})
}

type vote struct {
	User, Story string
	Stars       int
	Public      bool
}

func voteKey2() kvmodel.KeyOf[vote] {
	s := kvmodel.StringKey[string]()
	return kvmodel.Key2(s, s,
		func(v vote) (string, string) { return v.User, v.Story },
		func(a, b string) vote { return vote{User: a, Story: b} })
}

func voteKey3() kvmodel.KeyOf[vote] {
	s := kvmodel.StringKey[string]()
	return kvmodel.Key3(s, s, kvmodel.IntKey[int](),
		func(v vote) (string, string, int) { return v.User, v.Story, v.Stars },
		func(a, b string, c int) vote { return vote{User: a, Story: b, Stars: c} })
}

func voteKey4() kvmodel.KeyOf[vote] {
	s := kvmodel.StringKey[string]()
	return kvmodel.Key4(s, s, kvmodel.IntKey[int](), kvmodel.BoolKey[bool](),
		func(v vote) (string, string, int, bool) { return v.User, v.Story, v.Stars, v.Public },
		func(a, b string, c int, d bool) vote { return vote{a, b, c, d} })
}

func TestKeyOf_CompositeKeysNeverMixTheirParts(t *testing.T) {
	there(t, voteKey2(), map[vote]string{
		{User: "a:b", Story: "c"}: "a%3Ab:c",
		{User: "a", Story: "b:c"}: "a:b%3Ac",
		{User: "", Story: ":"}:    ":%3A",
	})
	there(t, voteKey3(), map[vote]string{{User: "u", Story: "s", Stars: -5}: "u:s:-5"})
	there(t, voteKey4(), map[vote]string{{"u", "s", 5, true}: "u:s:5:true"})
	nowhere(t, voteKey2(), "", "a", "a:b:c", "a:%zz")
	nowhere(t, voteKey3(), "a:b", "a:b:x", "a:b:")
	nowhere(t, voteKey4(), "a:b:1:maybe", "a:b:1")
}

func TestKeyOf_AnEmptyStringIsNoneAndSoIsAKeyWithOne(t *testing.T) {
	s := kvmodel.StringKey[string]()
	want := []bool{true, false, false, false, false, true, true, true, true, false}
	got := []bool{
		s.Empty(""), s.Empty(" "),
		kvmodel.IntKey[int]().Empty(0), kvmodel.IntKey[uint]().Empty(0), kvmodel.BoolKey[bool]().Empty(false),
		voteKey2().Empty(vote{User: "u"}), voteKey2().Empty(vote{Story: "s"}),
		voteKey3().Empty(vote{User: "u"}), voteKey4().Empty(vote{Story: "s"}),
		voteKey4().Empty(vote{User: "u", Story: "s"}),
	}
	wantSame(t, want, got, "empty")
}

func TestNewID_Is26CharactersThatSortByTime(t *testing.T) {
	form := regexp.MustCompile("^[0-9a-hjkmnp-tv-z]{26}$")
	begin := time.UnixMilli(0)
	var ids []string
	for i := range 1000 {
		// Steps from a millisecond to centuries, up to the end of the 48 bits.
		ids = append(ids, kv.NewID(begin.Add(time.Duration(i*i*i*9)*time.Second+time.Duration(i)*time.Millisecond)))
	}
	for _, id := range ids {
		if !form.MatchString(id) {
			t.Fatalf("id %q is not 26 characters of the alphabet", id)
		}
		if !kv.IsID(id) {
			t.Errorf("%q is said to be no id", id)
		}
	}
	if !slices.IsSorted(ids) {
		t.Error("ids do not sort by time")
	}
	same := map[string]bool{}
	for range 10_000 {
		same[kv.NewID(begin)] = true
	}
	proof.Equal(t, len(same), 10_000, "ids")
}

func TestIsID_KnowsWhatNewIDCannotReturn(t *testing.T) {
	id := kv.NewID(time.Now())
	for _, other := range []string{
		"", "..", id[1:], id + "0", " " + id[1:], strings.ToUpper(id), id[:25] + "i", id[:25] + "u", id[:25] + "-", "8" + id[1:], id[:24] + "あ",
	} {
		if kv.IsID(other) {
			t.Errorf("%q is said to be an id", other)
		}
	}
}

func TestIndexSpec_Places_HoldsEachValueOnceAndNoEmptyOne(t *testing.T) {
	type page struct {
		Tags  []string
		Draft bool
	}
	spec := kvmodel.IndexSpec[page, string]{
		Key:    kvmodel.StringKey[string](),
		Values: func(p *page) []string { return p.Tags },
		If:     func(p *page) bool { return !p.Draft },
	}
	got := [][]string{
		spec.Places(&page{Tags: []string{"b", "", "a", "b", "a:b"}}),
		spec.Places(&page{Tags: []string{""}}),
		spec.Places(&page{Tags: []string{"a"}, Draft: true}),
		spec.Places(&page{}),
	}
	wantSame(t, [][]string{{"b", "a", "a%3Ab"}, nil, nil, nil}, got, "places")
	numbers := kvmodel.IndexSpec[page, int]{Key: kvmodel.IntKey[int](), Values: func(*page) []int { return []int{0, 1, 0} }}
	wantSame(t, []string{"0", "1"}, numbers.Places(&page{}), "places of numbers")
}

func TestCursor_IsGoodForItsListingOnly(t *testing.T) {
	place := []byte("\x00place\xff")
	cursor := plug.Cursor("Page.Newest", place)
	got, err := plug.ParseCursor("Page.Newest", cursor)
	if err != nil || string(got) != string(place) {
		t.Fatalf("place %q came back as %q, %v", place, got, err)
	}
	if strings.ContainsAny(cursor, "+/=&?#% ") {
		t.Errorf("cursor %q does not fit a URL", cursor)
	}
	for _, listing := range []string{"Page.Oldest", "Post.Newest", "Page.Newes", ""} {
		wantBadCursor(t, listing, cursor)
	}
}

func TestCursor_CutOrTamperedIsRefused(t *testing.T) {
	const listing = "Page.Newest"
	cursor := plug.Cursor(listing, []byte("place"))
	for n := range len(cursor) {
		wantBadCursor(t, listing, cursor[:n])
		for _, c := range []byte("Az0_-") {
			if cursor[n] != c {
				wantBadCursor(t, listing, cursor[:n]+string(c)+cursor[n+1:])
			}
		}
	}
	wantBadCursor(t, listing, cursor+"A")
	wantBadCursor(t, listing, cursor+"\n")
	wantBadCursor(t, listing, strings.Repeat("é", 1000))
}

func wantBadCursor(t *testing.T, listing, cursor string) {
	t.Helper()
	got, err := plug.ParseCursor(listing, cursor)
	wantErr(t, err, kvmodel.ErrBadCursor)
	if err == nil {
		t.Errorf("cursor %q was taken for place %q", cursor, got)
	} else if len(err.Error()) > 400 {
		t.Errorf("the error for a cursor has %d bytes", len(err.Error()))
	}
}

func TestKeyOf_NumbersAreReadWithoutAllocations(t *testing.T) {
	number := kvmodel.IntKey[int64]()
	edge := kvmodel.Key2(number, number, func(id [2]int64) (int64, int64) { return id[0], id[1] },
		func(a, b int64) [2]int64 { return [2]int64{a, b} })
	allocs := proof.Allocs(100, func() {
		if id, err := edge.Parse("1234567:-7654321"); err != nil || id != [2]int64{1234567, -7654321} {
			t.Fatal(id, err)
		}
	})
	if allocs > 0 {
		t.Errorf("%.0f allocations", allocs)
	}
}
