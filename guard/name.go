package guard

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// Name returns the name that was typed in the one form in which it is compared, stored and
// shown: in lower case, with narrow letters, and with accents that are part of their letters
// (the profile UsernameCaseMapped of PRECIS). problem says in words for the user what is
// wrong with it: it has no letters or more than most, signs that are no letters or digits
// but - and _, or letters of scripts that are not written together.
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

// together are the scripts of everyday use, and those of them that are written together.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"}, {"Latin", "Han", "Hangul"},
	{"Arabic"}, {"Armenian"}, {"Bengali"}, {"Cyrillic"}, {"Devanagari"}, {"Ethiopic"}, {"Georgian"}, {"Greek"},
	{"Gujarati"}, {"Gurmukhi"}, {"Hebrew"}, {"Kannada"}, {"Khmer"}, {"Lao"}, {"Malayalam"}, {"Myanmar"}, {"Oriya"},
	{"Sinhala"}, {"Tamil"}, {"Telugu"}, {"Thaana"}, {"Thai"}, {"Tibetan"},
}

// OneScript reports whether the letters of text are of one script in everyday use, or of
// those that are written together, as in Japanese. A word of several others is seldom what
// it looks like.
func OneScript(text string) bool {
	for _, scripts := range together {
		if !strings.ContainsFunc(text, func(r rune) bool { return !isOf(r, scripts) }) {
			return true
		}
	}
	return false
}

// isOf reports whether r is of one of scripts, or of all.
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

// alike has letters, and after each the one of ASCII that it looks like.
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

// Look returns what names that look alike have in common, for a unique index beside that of
// the names: letters of Latin, Cyrillic, Greek and Armenian that look the same are one. Whether
// they are capitals makes no difference in the result, but does in how they look.
func Look(name string) string {
	looks := strings.Map(func(r rune) rune {
		if latin, ok := alikes[r]; ok {
			return latin
		}
		return r
	}, norm.NFKD.String(name))
	return norm.NFC.String(strings.ToLower(looks))
}
