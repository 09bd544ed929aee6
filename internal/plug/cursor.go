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
