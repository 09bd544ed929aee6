package plug

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxPage is kvmodel.MaxPage, the maximum number of items on a page.
const MaxPage = 1000

// CheckPage returns an ErrInvalid unless n is a valid number of items for a page.
func CheckPage(listing string, n int) error {
	if n < 1 || n > MaxPage {
		return fmt.Errorf("%s: %w: a page of %d; it has 1 to %d items", listing, ErrInvalid, n, MaxPage)
	}
	return nil
}

// CheckNumber is CheckPage for a page by number.
func CheckNumber(listing string, page, n int) error {
	if page < 1 {
		return fmt.Errorf("%s: %w: page %d; the first is page 1", listing, ErrInvalid, page)
	}
	return CheckPage(listing, n)
}

// Pages returns how many pages of n items total items fill.
func Pages(total, n int) int { return (total + n - 1) / n }

// Ask returns how many entries a page of n items reads next, after found hits among looked entries;
// 0 ends the page. The first trip reads n. The second reads twice what the hit rate requires, so it
// is usually the last; each later one three times the entries read since the first. A page reads at
// most 10 n entries, 4 n in one trip.
func Ask(n, found, looked int) int {
	missing := n - found
	if looked == 0 || missing == 0 {
		return missing
	}
	ask := max(2*missing*(looked+1)/(found+1)+4, 3*(looked-n))
	return min(ask, 4*n, 10*n-looked)
}

// MaxID is the maximum length of the text of an id, in bytes.
const MaxID = 2048

// TooLong returns the error for a text longer than most bytes. what is "an id" or the like. It
// gives the length before escaping, too, since an app knows only that.
func TooLong(what, text string, most int) error {
	size := fmt.Sprintf("%d bytes", len(text))
	if escaped := strings.Count(text, "%"); escaped > 0 {
		size = fmt.Sprintf("%d bytes, which are %d when escaped", len(text)-2*escaped, len(text))
	}
	return fmt.Errorf("%w: %s of %s, at most %d", kv.ErrTooLarge, what, size, most)
}

var (
	ErrInvalid   = errors.New("invalid")    // kvmodel.ErrInvalid
	ErrBadCursor = errors.New("bad cursor") // kvmodel.ErrBadCursor
)

const cursorFormat = 1

// Cursor returns an opaque text, safe in a URL, for a position in a listing such as "Page.Newest".
func Cursor(listing string, position []byte) string {
	sum := cursorSum(listing, position)
	b := make([]byte, 0, 1+len(sum)+len(position))
	b = append(append(append(b, cursorFormat), sum[:]...), position...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseCursor returns the position of a cursor, or ErrBadCursor if Cursor did not create it for
// this listing. It detects accidents, not forgery: any position must be harmless.
func ParseCursor(listing, cursor string) ([]byte, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	// The decoder skips line breaks, which no cursor has.
	if err != nil || strings.ContainsAny(cursor, "\r\n") || len(b) < 1+cursorSumBytes || b[0] != cursorFormat {
		return nil, badCursor(listing, cursor, "no page has made it")
	}
	position := b[1+cursorSumBytes:]
	if cursorSum(listing, position) != [cursorSumBytes]byte(b[1:]) {
		return nil, badCursor(listing, cursor, "it belongs to another listing, or is cut")
	}
	return position, nil
}

// badCursor names only the index in the error: the rest of listing, in characters reserved for
// cursors, is the part of it.
func badCursor(listing, cursor, why string) error {
	index := strings.IndexFunc(listing, func(r rune) bool {
		return r != '.' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
	if index >= 0 && strings.Contains(listing[:index], ".") {
		listing = listing[:index]
	}
	return fmt.Errorf("%s: %w %s: %s", listing, ErrBadCursor, Briefly(cursor), why)
}

const cursorSumBytes = 6

func cursorSum(listing string, position []byte) [cursorSumBytes]byte {
	b := make([]byte, 0, binary.MaxVarintLen32+len(listing)+len(position))
	sum := sha256.Sum256(append(wire.AppendText(b, listing), position...))
	return [cursorSumBytes]byte(sum[:])
}

// Briefly quotes text, cut if it is long, for an error.
func Briefly(text string) string {
	const most = 60
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return kv.Quote(text)
}
