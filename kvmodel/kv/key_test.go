package kv_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestClass_Key_EscapesAndJoins(t *testing.T) {
	for _, c := range []struct {
		parts []string
		want  string
	}{
		{[]string{"a", "b"}, "page:a:b"},
		{[]string{"", ""}, "page::"},
		{[]string{"a:b", "c"}, "page:a%3Ab:c"},
		{[]string{"a", "b:c"}, "page:a:b%3Ac"},
		{[]string{"a b", "{c}"}, "page:a%20b:%7Bc%7D"},
		{[]string{"é", "\x00\xff"}, "page:%C3%A9:%00%FF"},
		{[]string{"50%", "#1"}, "page:50%25:%231"},
		{[]string{"A.z_0~9-", "/"}, "page:A.z_0~9-:%2F"},
	} {
		proof.Equal(t, kv.NewClass("page", 2).Key(c.parts...), c.want, "key of %q", c.parts)
	}
}

func TestClass_Key_PanicsForAnotherNumberOfParts(t *testing.T) {
	class := kv.NewClass("page", 2)
	for name, call := range map[string]func(){
		"none":              func() { class.Key() },
		"one":               func() { class.Key("a") },
		"three":             func() { class.Key("a", "b", "c") },
		"text alone":        func() { class.KeyOfText(nil, "a") },
		"text with too few": func() { class.KeyOfText([]string{"a", "b"}, "c") },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if text, ok := recover().(string); !ok || !strings.Contains(text, "key class page has 2 parts") {
					t.Errorf("recovered %q, want what is wrong with which class", text)
				}
			}()
			call()
		})
	}
}

func TestClass_KeyOfText_DoesNotEscapeTheTextAgain(t *testing.T) {
	text := kv.JoinText("a b", "c:d")
	if got, want := kv.NewClass("page", 1).KeyOfText(nil, text), "page:a%20b:c%3Ad"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := kv.NewClass("list", 2).KeyOfText([]string{"x y"}, text), "list:x%20y:a%20b:c%3Ad"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestClass_Key_LongOnesAreHashed(t *testing.T) {
	class := kv.NewClass("page", 2)
	longest := class.Key(strings.Repeat("a", 100), strings.Repeat("b", 160-len("page::")-100))
	if len(longest) != 160 || strings.Contains(longest, "#") {
		t.Errorf("a key of 160 bytes became %q", longest)
	}
	seen := map[string]string{longest: "not long"}
	for _, parts := range [][]string{
		{strings.Repeat("a", 100), strings.Repeat("b", 55)},
		{strings.Repeat("a", 100), strings.Repeat("b", 56)},
		{strings.Repeat("a", 100), strings.Repeat("b", 54) + "c"},
		{strings.Repeat("a", 101), strings.Repeat("b", 54)},
		{strings.Repeat("é", 5000), ""},
		{"", strings.Repeat("é", 5000)},
	} {
		key := class.Key(parts...)
		if len(key) > 160 || !strings.Contains(key, "#h") || kv.CheckKey(key) != nil {
			t.Errorf("the long key became %q", key)
		}
		if !strings.HasPrefix(strings.ReplaceAll("page:"+kv.JoinText(parts...), "#", "?"), key[:90]) {
			t.Errorf("the beginning of %q is not readable", key)
		}
		if other, there := seen[key]; there {
			t.Errorf("%q and %.20q have one key", parts, other)
		}
		seen[key] = strings.Join(parts, ":")
	}
}

func TestFamily_SaysTheTextOfEachKeyThatIsNotHashed(t *testing.T) {
	for _, before := range []string{"Note", strings.Repeat("Long", 30)} {
		family := kv.NewClass("r", 2).Family(before)
		for _, text := range []string{"a", "a:b%20c", strings.Repeat("x", 40), strings.Repeat("x", 500)} {
			key := family.Key(text)
			if !strings.HasPrefix(key, family.Begin()) {
				t.Errorf("%s does not begin with %s", key, family.Begin())
			}
			if got := family.Text(key); got != text && !kv.IsHashed(key) || kv.IsHashed(key) && got != "" {
				t.Errorf("%s is of %q, want %q", key, got, text)
			}
		}
	}
	proof.Equal(t, kv.NewClass("r", 2).Family("Note").Text("r:Notes:a"), "", "a key of another family")
}

func TestClass_Key_StaysAsItIs(t *testing.T) {
	// These keys are stored: changing one loses data.
	if got, want := kv.NewClass("page", 1).Key(strings.Repeat("é", 60)),
		"page:%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%C3%A9%#h3G1G6PUBIK1SFKRQLNLV5DU16LJH0G9BBSE1OB9CL58HB7MVJ3PG"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMaxKey_HoldsTenantKeyAndSuffix(t *testing.T) {
	longest := kv.NewClass("c", 1).Key(strings.Repeat("k", 158))
	if n := kv.MaxTenant + len(":") + len(longest) + kv.MaxSuffix; n > kv.MaxKey {
		t.Errorf("tenant, key and suffix can be %d bytes, more than %d", n, kv.MaxKey)
	}
}

func TestSplitText_GivesBackWhatWasJoined(t *testing.T) {
	for _, parts := range [][]string{{""}, {"a"}, {"", ""}, {"a:b", "c"}, {"a", "b:c"}, {"%", "%25", "#"}, {"\x00\xff", "é", "{}"}} {
		got, err := kv.SplitText(kv.JoinText(parts...), len(parts))
		if err != nil {
			t.Errorf("%q: %v", parts, err)
		}
		proof.NoDiff(t, cmp.Diff(parts, got), "parts")
	}
}

func TestSplitText_RefusesWhatJoinTextNeverWrites(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"a:b", 1, `id text "a:b" has 2 parts, not 1`},
		{"a", 2, `id text "a" has 1 parts, not 2`},
		{"a b", 1, "byte 0x20 is not escaped"},
		{"é", 1, "byte 0xc3 is not escaped"},
		{"%", 1, "byte 0x25 is not escaped"},
		{"%4", 1, "byte 0x25 is not escaped"},
		{"%41", 1, `bad escape "%41"`},
		{"%3a", 1, `bad escape "%3a"`},
		{"%zz", 1, `bad escape "%zz"`},
		{"%+1", 1, `bad escape "%+1"`},
	} {
		if parts, err := kv.SplitText(c.text, c.n); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gave %q and the error %v, want one with %q", c.text, parts, err, c.want)
		}
	}
}

func TestCheckKey_SaysWhatIsWrongAndWhere(t *testing.T) {
	for key, want := range map[string]string{
		"":                                      "bad key: it is empty",
		strings.Repeat("k", kv.MaxKey+1):        "bad key: 251 bytes, at most 250",
		"a b":                                   "bad key: byte 0x20 at 1 is not allowed",
		"ab\r":                                  "bad key: byte 0x0d at 2 is not allowed",
		"{":                                     "bad key: byte 0x7b at 0 is not allowed",
		"a}":                                    "bad key: byte 0x7d at 1 is not allowed",
		"é":                                     "bad key: byte 0xc3 at 0 is not allowed",
		"\x7f":                                  "bad key: byte 0x7f at 0 is not allowed",
		strings.Repeat("k", kv.MaxKey):          "",
		"page:a%20b#0!\"$&'()*+,/;<=>?@[\\]^`|": "",
	} {
		err := kv.CheckKey(key)
		if want == "" && err == nil {
			continue
		}
		if !errors.Is(err, kv.ErrBadKey) || err.Error() != want {
			t.Errorf("%.20q: %v, want %q", key, err, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a", "b", "c", "d")
	f.Add("a:b", "c", "a", "b:c")
	f.Add("%", "%25", "", "\xff")
	f.Add(strings.Repeat("x", 200), "", strings.Repeat("x", 199), "x")
	class := kv.NewClass("fuzz", 2)
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		text := kv.JoinText(a, b)
		got, err := kv.SplitText(text, 2)
		must(t, err)
		proof.NoDiff(t, cmp.Diff([]string{a, b}, got), "parts")
		key := class.Key(a, b)
		if err := kv.CheckKey(key + strings.Repeat("#", kv.MaxSuffix)); err != nil {
			t.Errorf("key %q: %v", key, err)
		}
		if same := slices.Equal([]string{a, b}, []string{c, d}); (key == class.Key(c, d)) != same || (text == kv.JoinText(c, d)) != same {
			t.Errorf("%q and %q have the keys %q and %q", []string{a, b}, []string{c, d}, key, class.Key(c, d))
		}
	})
}

func FuzzSplitText(f *testing.F) {
	for _, text := range []string{"", "a", "a:b", "%20", "%4", "%%", "%2G", "a%3Ab:%C3%A9"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n := strings.Count(text, ":") + 1
		parts, err := kv.SplitText(text, n)
		// An accepted text is the only one for its parts.
		if err == nil && kv.JoinText(parts...) != text {
			t.Errorf("%q was read as %q, which is written %q", text, parts, kv.JoinText(parts...))
		}
	})
}

func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"", "k", "a b", "{k}", "\x00", "é", strings.Repeat("k", 250), strings.Repeat("k", 251)} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		good := len(key) >= 1 && len(key) <= kv.MaxKey &&
			strings.Trim(key, "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyz|~") == ""
		if err := kv.CheckKey(key); (err == nil) != good || err != nil && !errors.Is(err, kv.ErrBadKey) {
			t.Errorf("%q: %v, want good: %t", key, err, good)
		}
	})
}
