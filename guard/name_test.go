package guard_test

import (
	"strings"
	"testing"

	"github.com/ringtree/ringtree/guard"
)

func TestName_HasOneForm(t *testing.T) {
	for typed, want := range map[string]string{
		" Ann ":                 "ann",
		"ＡＮＮ":                   "ann",
		"A\u0308rger":           "ärger",
		"ﾊﾅｺ":                   "ハナコ",
		"Straße-1_2":            "straße-1_2",
		"Вода":                  "вода",
		"私のcafé":                "私のcafé",
		"שלום":                  "שלום",
		"नमस्ते":                "नमस्ते",
		"한글A":                   "한글a",
		strings.Repeat("ä", 30): strings.Repeat("ä", 30), // letters, not bytes
	} {
		if got, problem := guard.Name(typed, 30); got != want || problem != "" {
			t.Errorf("%q: want %q, got %q, %s", typed, want, got, problem)
		}
	}
}

func TestName_RefusesWhatLooksLikeAnother(t *testing.T) {
	for typed, want := range map[string]string{
		"":                      "at least one letter",
		" \u3000":               "at least one letter",
		"ann\u200b":             "letters, digits",
		"ann\u00ad":             "letters, digits",
		"ann\x00":               "letters, digits",
		"a nn":                  "letters, digits",
		"a.nn":                  "letters, digits",
		"..":                    "letters, digits",
		"ann\u202e":             "letters, digits",
		"\u1d00nn\ufb01":        "letters, digits",
		"🍵":                     "letters, digits",
		"ann\u0430":             "one script", // a Cyrillic a
		"ἀnn":                   "one script",
		"Ꭺnn":                   "one script",
		"ꓮꓠꓠ":                   "one script",
		"\xff":                  "letters, digits",
		strings.Repeat("a", 31): "at most 30 letters; this one has 31",
	} {
		if got, problem := guard.Name(typed, 30); got != "" || !strings.Contains(problem, want) {
			t.Errorf("%q: want %q, got %q, %s", typed, want, got, problem)
		}
	}
}

func TestLook_IsTheSameOfWhatLooksAlike(t *testing.T) {
	for _, alike := range [][]string{
		{"cope", "соре", "Cope"},
		{"both", "ВОТН"},
		{"noun", "ոօսո"},
		{"kaxhe", "ΚΑΧΗΕ", "КАХНЕ"},
		{"ï", "ї", "i\u0308"},
		{"ёж", "ëж"},
	} {
		for _, name := range alike[1:] {
			if want, got := guard.Look(alike[0]), guard.Look(name); got != want {
				t.Errorf("%s and %s look alike: want %q, got %q", alike[0], name, want, got)
			}
		}
	}
	for _, differ := range [][2]string{{"ann", "ana"}, {"вода", "voda"}, {"é", "e"}, {"user1", "userl"}, {"私", "㇙"}} {
		if guard.Look(differ[0]) == guard.Look(differ[1]) {
			t.Errorf("%s and %s do not look alike", differ[0], differ[1])
		}
	}
}
