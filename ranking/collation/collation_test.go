package collation

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/ringtree/ringtree/internal/proof"
)

var locales = []string{"", "sv", "de-u-co-phonebk", "es", "cs", "hu", "lt", "da", "fr-CA", "ja", "zh", "ko", "th", "en-US-u-va-posix", "und-u-kn-true", "und-u-ks-level1", "und-u-ks-level2", "fr-u-kb-true", "und-u-ka-shifted-ks-level4"}

type order struct {
	*Collation
	*collate.Collator
}

func orderOf(locale string) order { return order{Of(locale), collate.New(language.Make(locale))} }

func (o order) key(text string) []byte {
	var b collate.Buffer
	return bytes.Clone(o.KeyFromString(&b, text))
}

var seeded = proof.Seeded

var parts = []string{
	"a", "b", "z", "A", "Z", "the ", "The ", "ch", "dzs", "lj", "ll", " ", "  ", "-", "'", "0", "9", "12", "é", "e\u0301", "\u0301", "å", "Å", "ä", "ö", "ü", "ß", "æ", "ø", "ñ", "č",
	"а", "Я", "й", "α", "Ω", "ש", "ا", "ह", "ก", "เก", "か", "が", "カ", "ｶ", "ー", "한", "글", "一", "丁", "龥", "𠀀", "😀", "☃", "\x00", "\x01", "\xff", "\u00ad", "\ufffd", "\U0010ffff",
}

func someText(rng *rand.Rand, n int) string {
	some := parts
	if rng.IntN(2) == 0 {
		at := rng.IntN(len(parts) - 6)
		some = parts[at : at+6]
	}
	var b strings.Builder
	for range rng.IntN(n + 1) {
		b.WriteString(some[rng.IntN(len(some))])
	}
	return b.String()
}

// Words of maximal length with the same beginning may be equal.
func (o order) checkOrder(t *testing.T, a, b string) {
	t.Helper()
	x, y := o.Word(a), o.Word(b)
	want, got := bytes.Compare(o.key(a), o.key(b)), cmp.Compare(x, y)
	if cut := len(x) == maxBits/8 && x == y; got != want && !cut {
		t.Errorf("%s: %q and %q stand as %d, want %d: words %x, %x", o.Name(), a, b, got, want, x, y)
	}
	if x != y && (strings.HasPrefix(x, y) || strings.HasPrefix(y, x)) {
		t.Errorf("%s: of the words of %q and %q one begins with the other: %x, %x", o.Name(), a, b, x, y)
	}
	if len(x) == 0 || len(x) > maxBits/8 {
		t.Errorf("%s: the word of %q has %d bytes", o.Name(), a, len(x))
	}
}

func (o order) checkPrefix(t *testing.T, prefix, text string) {
	t.Helper()
	low, high := o.Prefix(prefix)
	word := o.Word(text)
	got := low <= word && (high == "" || word < high)
	of, all := levelsOf(o.key(prefix)).letters, levelsOf(o.key(text)).letters
	want := len(all) >= len(of) && slices.Equal(all[:len(of)], of)
	if cut := len(low) == maxBits/8; got != want && !(cut && got) {
		t.Errorf("%s: %q is in the part %q: %v, want %v", o.Name(), text, prefix, got, want)
	}
}

func TestWord_StandsWhereTheCollationSays(t *testing.T) {
	rng := seeded(t)
	for _, locale := range locales {
		o := orderOf(locale)
		for _, n := range []int{2, 6, 20, 200} {
			for range 15 {
				a, b := someText(rng, n), someText(rng, n)
				if rng.IntN(2) == 0 {
					at := someText(rng, n)
					a, b = at+a, at+b
				}
				o.checkOrder(t, a, b)
				o.checkOrder(t, a, a)
				o.checkPrefix(t, a, b)
				o.checkPrefix(t, a, a+b)
				o.checkPrefix(t, strings.ToUpper(a), a)
			}
		}
	}
}

func FuzzWord_StandsWhereTheCollationSays(f *testing.F) {
	for i := range parts {
		f.Add(uint8(i), parts[i], parts[len(parts)-1-i])
	}
	f.Add(uint8(0), strings.Repeat("a", 300), strings.Repeat("a", 301))
	f.Fuzz(func(t *testing.T, locale uint8, a, b string) {
		if len(a) > mostRead || len(b) > mostRead {
			return // Ignorable signs beyond that may hide the letters.
		}
		o := orderOf(locales[int(locale)%len(locales)])
		o.checkOrder(t, a, b)
		o.checkPrefix(t, a, b)
	})
}

func TestPrefix_IsOfLettersInEveryScript(t *testing.T) {
	o := Of("")
	for prefix, texts := range map[string][]string{
		"be": {"Beatles", "bé", "BE", "bell"}, "во": {"Война и мир", "ВО"}, "ひ": {"ヒト", "ひらがな", "ぴ"},
		"של": {"שלום"}, "😀": {"😀😀", "😀 a"}, "": {"a", "", "\x00", "龥"}, "涼": {"涼宮"}, "a b": {"A Boy"},
	} {
		low, high := o.Prefix(prefix)
		for _, text := range texts {
			if w := o.Word(text); w < low || high != "" && w >= high {
				t.Errorf("%q is not in the part %q", text, prefix)
			}
		}
		for _, text := range []string{"b", "ah", "c", "Вц", "は", "שם", "☃", "一", "a"} {
			if w := o.Word(text); prefix != "" && w >= low && (high == "" || w < high) {
				t.Errorf("%q is in the part %q", text, prefix)
			}
		}
	}
}

func TestCodes_AreForEveryWeight(t *testing.T) {
	for name, c := range map[string]struct {
		codes []code
		most  int
	}{"letters": {letterCodes(), mostWeight}, "accents": {accentCodes(), 1<<16 - 1}, "cases": {caseCodes(), 1<<8 - 1}} {
		written := func(weight int) string {
			var w writer
			w.weight(c.codes, weight)
			var b strings.Builder
			for _, by := range w.bytes {
				fmt.Fprintf(&b, "%08b", by)
			}
			return b.String()[:w.n]
		}
		last := written(end)
		try := func(weight int) {
			next := written(weight)
			if next <= last || strings.HasPrefix(next, last) {
				t.Errorf("%s: the code of %x is %s, after %s", name, weight, next, last)
			}
			last = next
		}
		for i, at := range c.codes {
			high := c.most
			if i < len(c.codes)-1 {
				high = c.codes[i+1].low - 1
			}
			tried := []int{at.low, at.low + 1, (at.low + high) / 2, high - 1, high}
			slices.Sort(tried)
			for _, weight := range slices.Compact(tried) {
				if weight > end && weight >= at.low && weight <= high {
					try(weight)
				}
			}
		}
	}
}

func TestWord_IsWhatEarlierReleasesHaveStored(t *testing.T) {
	for _, c := range []struct{ locale, text, word string }{
		{"", "a", "2814"},
		{"", "The Beatles", "a2c911924b46d3301d56aaa8"},
		{"", "Été", "4d120b115888d550"},
		{"", "Война и мир", "b872ee6ba3aeccb800573c8aec3b9e6f0303aaaaaa00"},
		{"", "안녕하세요", "d17b0378f416c6df4d25b0344ec5d17b300a"},
		{"", "😀😀", "21f02321f0230280"},
		{"sv", "Åsa", "b6b84c50381400"},
		{"ja", "涼宮ハルヒの憂鬱", "f82c9fe0212e9aeaae9be99f82ac7e1070035f7bde50"},
		{"zh", "涼宮ハルヒの憂鬱", "f9129fe22bde9aeaae9be99fa3d5fe9252035f7bdaa0"},
	} {
		proof.Equal(t, fmt.Sprintf("%x", Of(c.locale).Word(c.text)), c.word, "%s: the word of %q", c.locale, c.text)
	}
}

func TestOf_SaysItsLocaleAndItsVersions(t *testing.T) {
	for locale, want := range map[string]string{"": "root.23.1", "sv": "sv.23.1", "de-u-co-phonebk": "de-u-co-phonebk.23.1"} {
		proof.Equal(t, Of(locale).Name(), want, "the order of %q is called", locale)
	}
	defer func() {
		proof.Contains(t, fmt.Sprint(recover()), `"nowhere!"`)
	}()
	Of("nowhere!")
}

func TestCollation_MayBeUsedBySeveralAtOnce(t *testing.T) {
	o := Of("")
	var works sync.WaitGroup
	for i := range 8 {
		works.Go(func() {
			for range 200 {
				for _, text := range []string{"The Beatles", "Été", "안녕하세요"}[i%3:] {
					proof.Equal(t, o.Word(text), Of("").Word(text), "the word of %q", text)
				}
			}
		})
	}
	works.Wait()
}
