package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// Name returns the canonical form of a typed name, by the profile UsernameCaseMapped of PRECIS.
// problem is a message for the user about a name that is empty, has more than most letters, has
// other characters than letters, digits, - and _, or mixes scripts that are not used together.
func Name(typed string, most int) (name, problem string) {
	typed = strings.TrimSpace(typed)
	name, err := precis.UsernameCaseMapped.String(typed)
	switch n := utf8.RuneCountInString(name); {
	case typed == "":
		return "", "A name has at least one letter."
	case err != nil || strings.ContainsFunc(name, func(r rune) bool { return !inName(r) }):
		return "", "A name has letters, digits, - and _ only."
	case n > most:
		return "", fmt.Sprintf("A name has at most %d letters; this one has %d.", most, n)
	case !OneScript(name):
		return "", "A name has letters of one script, not of several, some of which look alike."
	}
	return name, ""
}

func inName(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.Nd) || r == '-' || r == '_'
}

// together are the scripts in everyday use, by those used together.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"},
	{"Arabic"}, {"Armenian"}, {"Bengali"}, {"Cyrillic"}, {"Devanagari"}, {"Ethiopic"}, {"Georgian"}, {"Greek"},
	{"Gujarati"}, {"Gurmukhi"}, {"Hebrew"}, {"Kannada"}, {"Khmer"}, {"Lao"}, {"Malayalam"}, {"Myanmar"}, {"Oriya"},
	{"Sinhala"}, {"Tamil"}, {"Telugu"}, {"Thaana"}, {"Thai"}, {"Tibetan"},
}

// OneScript reports whether the letters of text belong to one script in everyday use, or to scripts
// used together, as in Japanese.
func OneScript(text string) bool {
	for _, scripts := range together {
		if !strings.ContainsFunc(text, func(r rune) bool { return !isOf(r, scripts) }) {
			return true
		}
	}
	return false
}

func isOf(r rune, scripts []string) bool {
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return true
	}
	for _, script := range scripts {
		if unicode.Is(unicode.Scripts[script], r) {
			return true
		}
	}
	return false
}

// alike holds letters, each followed by the ASCII letter it looks like.
const alike = "ıiɩiɪiɑaɡg" + // Latin
	"АAаaВBьbСCсcҪCҫcԁdЕEеeԌGНHҺhһhІIіiӀIЈJјjӏlКKкkМMОOоoРPрpԛqЅSѕsТTѴVѵvԜWԝwХXхxУYуyҮYүy" + // Cyrillic
	"ΑAαaΒBϹCϲcΕEΗHΙIιiϳjΚKκkΜMΝNΟOοoΡPρpΤTυuνvωwΧXχxΥYγyΖZ" + // Greek
	"քfցgհhյjԼLոnռnՈnՕOօoգqզqՏSՍUսuաw" // Armenian

var alikes = func() map[rune]rune {
	all := make(map[rune]rune)
	letters := []rune(alike)
	for i := 0; i < len(letters); i += 2 {
		all[letters[i]] = letters[i+1]
	}
	return all
}()

// Look returns a common key for names that look alike, for a second unique index. Letters of Latin,
// Cyrillic, Greek and Armenian that look the same become one. Capitals are compared by their own
// look, but the result is in lower case.
func Look(name string) string {
	looks := strings.Map(func(r rune) rune {
		if latin, ok := alikes[r]; ok {
			return latin
		}
		return r
	}, norm.NFKD.String(name))
	return norm.NFC.String(strings.ToLower(looks))
}
