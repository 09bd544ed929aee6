package guard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
)

func TestRoom_LeavesPlacesForOthers(t *testing.T) {
	room := &guard.Room{Most: 3, MostFrom: 2}
	var leave []func()
	for i, want := range []bool{true, true, false} {
		left, ok := room.Enter("192.0.2.1")
		if ok != want {
			t.Fatalf("%d: want %v, got %v", i, want, ok)
		}
		leave = append(leave, left)
	}
	if _, ok := room.Enter("192.0.2.2"); !ok {
		t.Error("want a place for another address")
	}
	if _, ok := room.Enter("192.0.2.3"); ok {
		t.Error("want no place, as all are taken")
	}
	leave[0]()
	if _, ok := room.Enter("192.0.2.3"); !ok {
		t.Error("want the place that was left")
	}
}

func TestLocal_IsNoAddressOfAnotherSite(t *testing.T) {
	for path, want := range map[string]string{
		"/p/tea?a=b#c": "/p/tea?a=b#c", "": "/", "p": "/", "//evil.example": "/", `/\evil.example`: "/",
		"https://evil.example/": "/", "javascript:alert(1)": "/", "/\t/evil.example": "/",
	} {
		proof.Equal(t, guard.Local(path), want, "%q", path)
	}
}

func TestHeaders_KeepABrowserFromMoreThanShowing(t *testing.T) {
	for _, tls := range []bool{false, true} {
		want := http.Header{
			"Content-Security-Policy":      {"default-src 'none'; script-src 'none'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
			"X-Content-Type-Options":       {"nosniff"},
			"X-Frame-Options":              {"DENY"},
			"Referrer-Policy":              {"same-origin"},
			"Cross-Origin-Opener-Policy":   {"same-origin"},
			"Cross-Origin-Resource-Policy": {"same-origin"},
			"Permissions-Policy":           {"camera=(), geolocation=(), microphone=(), payment=(), usb=()"},
			"Cache-Control":                {"no-cache"},
			"Vary":                         {"Cookie"},
		}
		if tls {
			want["Strict-Transport-Security"] = []string{"max-age=31536000"}
		}
		got := http.Header{}
		guard.Headers(got, tls)
		proof.NoDiff(t, cmp.Diff(want, got), "with TLS %v: headers", tls)
	}
}

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

var cheap = guard.HashCost{Passes: 1, Memory: 8, Threads: 1}

func TestPasswords_MatchWhatWasHashed(t *testing.T) {
	p := guard.NewPasswords(cheap)
	stored, err := p.Hash(t.Context(), "two bars in the snow")
	if err != nil || !strings.HasPrefix(stored, "$argon2id$v=19$m=8,t=1,p=1$") {
		t.Fatalf("got %q, %v", stored, err)
	}
	other, err := p.Hash(t.Context(), "two bars in the snow")
	if err != nil || other == stored {
		t.Errorf("want another salt, got %q again, %v", other, err)
	}
	dearer := guard.NewPasswords(guard.HashCost{Passes: 2, Memory: 16, Threads: 1})
	for _, test := range []struct {
		stored, password string
		want             bool
	}{
		{stored, "two bars in the snow", true},
		{stored, "two bars in the snow ", false},
		{stored, "", false},
		{"", "", false},
		{"", "two bars in the snow", false},
		{stored[:len(stored)-4], "two bars in the snow", false},
		{"$2a$10$", "two bars in the snow", false},
	} {
		// A hash of another cost is matched at that cost.
		if got, err := dearer.Match(t.Context(), test.stored, test.password); got != test.want || err != nil {
			t.Errorf("%q and %q: want %v, got %v, %v", test.stored, test.password, test.want, got, err)
		}
	}
}

func TestPasswords_NobodyWaitsLongerThanTheirContext(t *testing.T) {
	p := guard.NewPasswords(cheap)
	gone, leave := context.WithCancel(t.Context())
	leave()
	waited := 0
	for range 100 {
		if _, err := p.Hash(gone, "two bars in the snow"); errors.Is(err, context.Canceled) {
			waited++
		}
	}
	if waited == 0 {
		t.Error("want some that have left not to be hashed")
	}
}
