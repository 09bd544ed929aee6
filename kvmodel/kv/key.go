package kv

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"
)

// A key is "class:part:part...". Parts are escaped, so different parts never produce the same key.
// A long key is cut and ends in a hash of the whole.
const (
	longKey    = 160 // longer keys are hashed
	keptOfLong = 90  // leading bytes that stay readable
	hashMark   = "#h"

	// MaxSuffix is the number of bytes a class may add to a key from Key.
	MaxSuffix = 48

	// MaxTenant is the maximum length of the tenant in Prefix.
	MaxTenant = 40
)

// Class is the keys with the same name and number of parts, such as the claims of unique values.
type Class struct {
	name  string
	parts int
}

// NewClass returns the class of keys name:part:...:part with that many parts.
func NewClass(name string, parts int) Class { return Class{name, parts} }

// Key returns the key of parts. It panics unless the class has that many.
func (c Class) Key(parts ...string) string {
	if len(parts) != c.parts {
		panic(fmt.Sprintf("kv: key class %s has %d parts, not %d", c.name, c.parts, len(parts)))
	}
	return shorten(c.name + ":" + JoinText(parts...))
}

// KeyOfText is like Key, but the last part is a text from JoinText, which is not escaped again.
func (c Class) KeyOfText(before []string, text string) string { return c.Family(before...).Key(text) }

// Family is the keys of a class that differ only in their last part.
type Family struct{ prefix string }

// Family returns the keys that begin with before, which is all parts but the last.
func (c Class) Family(before ...string) Family {
	if len(before)+1 != c.parts {
		panic(fmt.Sprintf("kv: key class %s has %d parts, not %d", c.name, c.parts, len(before)+1))
	}
	if len(before) == 0 {
		return Family{c.name + ":"}
	}
	return Family{c.name + ":" + JoinText(before...) + ":"}
}

// And returns the subfamily of keys whose last part begins with text, from JoinText.
func (f Family) And(text string) Family { return Family{f.prefix + text} }

// Key returns the key with text, from JoinText, as its last part.
func (f Family) Key(text string) string { return shorten(f.prefix + text) }

// Begin returns the common prefix of all keys of f, hashed ones included.
func (f Family) Begin() string { return f.prefix[:min(len(f.prefix), keptOfLong)] }

// Text returns the last part of key as a text. It returns "" if key is hashed or not in f.
func (f Family) Text(key string) string {
	text, ok := strings.CutPrefix(key, f.prefix)
	if !ok || IsHashed(key) {
		return ""
	}
	return text
}

// IsHashed reports whether key is long and ends in a hash.
func IsHashed(key string) bool { return strings.Contains(key, hashMark) }

// eachKey calls f with the keys of each text in every family, behind prefix. The keys share memory:
// room if it is large enough, otherwise the returned slice.
func eachKey(room []byte, prefix string, families []Family, texts []string, f func(key string)) []byte {
	size := len(texts) * len(families) * len(prefix)
	for _, family := range families {
		size += len(texts) * len(family.prefix)
	}
	for _, text := range texts {
		size += len(families) * len(text)
	}
	all := slices.Grow(room[:0], size)
	for _, text := range texts {
		for _, family := range families {
			begin := len(all)
			all = append(append(append(all, prefix...), family.prefix...), text...)
			if key := textOf(all[begin:]); len(key)-len(prefix) <= longKey {
				f(key)
			} else {
				f(prefix + shorten(key[len(prefix):]))
			}
		}
	}
	return all
}

// textOf returns text as a string without a copy. The string is invalid once text changes.
func textOf(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// JoinText returns parts escaped and joined by colons: the text of an id.
func JoinText(parts ...string) string {
	if !slices.ContainsFunc(parts, func(part string) bool { return !Plain(part) }) {
		return strings.Join(parts, ":")
	}
	var text []byte
	for i, part := range parts {
		if i > 0 {
			text = append(text, ':')
		}
		text = AppendText(text, part)
	}
	return string(text)
}

// AppendText appends [JoinText] of one part to dst.
func AppendText(dst []byte, part string) []byte {
	if Plain(part) {
		return append(dst, part...)
	}
	const hex = "0123456789ABCDEF"
	for i := range len(part) {
		if c := part[i]; plain(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', hex[c>>4], hex[c&15])
		}
	}
	return dst
}

// Texts returns the text of each of values.
func Texts[V any](values []V, text func(V) string) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = text(v)
	}
	return texts
}

// SplitText returns the n parts of a text from JoinText.
func SplitText(text string, n int) ([]string, error) {
	parts, err := TextParts(text, n)
	if err != nil {
		return nil, err
	}
	for i, part := range parts {
		plain, err := unescape(part)
		if err != nil {
			return nil, fmt.Errorf("id text %s: %w", Quote(text), err)
		}
		parts[i] = plain
	}
	return parts, nil
}

// TextParts returns the n parts of text, still escaped.
func TextParts(text string, n int) ([]string, error) {
	parts := strings.Split(text, ":")
	if len(parts) != n {
		return nil, fmt.Errorf("id text %s has %d parts, not %d", Quote(text), len(parts), n)
	}
	return parts, nil
}

// CheckKey returns an ErrBadKey that names the fault of key, or nil. Valid bytes are printable
// ASCII except the space and braces, which would choose the node of a Redis Cluster.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("%w: it is empty", ErrBadKey)
	}
	if len(key) > MaxKey {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrBadKey, len(key), MaxKey)
	}
	for i := range len(key) {
		if !goodInKey[key[i]] {
			return fmt.Errorf("%w: byte %#02x at %d is not allowed", ErrBadKey, key[i], i)
		}
	}
	return nil
}

var goodInKey = func() (good [256]bool) {
	for c := '!'; c <= '~'; c++ {
		good[c] = c != '{' && c != '}'
	}
	return good
}()

func unescape(part string) (string, error) {
	if Plain(part) {
		return part, nil
	}
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		c := part[i]
		if c == '%' && i+2 < len(part) {
			n, err := strconv.ParseUint(part[i+1:i+3], 16, 8)
			if err != nil || plain(byte(n)) || strings.ContainsAny(part[i+1:i+3], "abcdef") {
				return "", fmt.Errorf("bad escape %q", part[i:i+3])
			}
			b.WriteByte(byte(n))
			i += 2
			continue
		}
		if !plain(c) {
			return "", fmt.Errorf("byte %#02x is not escaped", c)
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

// Plain reports whether part is free of escapes and needs none.
func Plain(part string) bool {
	for i := range len(part) {
		if !plain(part[i]) {
			return false
		}
	}
	return true
}

func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' ||
		c == '.' || c == '_' || c == '~' || c == '-'
}

var nameEncoding = base32.HexEncoding.WithPadding(base32.NoPadding)

func shorten(key string) string {
	if len(key) <= longKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return key[:keptOfLong] + hashMark + nameEncoding.EncodeToString(sum[:])
}

// Quote returns key for an error message: one line, cut if it is too long.
func Quote(key string) string {
	if len(key) > MaxKey {
		key = key[:MaxKey] + "..."
	}
	return strconv.Quote(key)
}

// All randomness comes from crypto/rand, which a simulation can seed.

// RandomBytes returns n random bytes.
func RandomBytes(n int) []byte {
	b := make([]byte, n)
	// Read never fails: the runtime ends the program instead.
	_, _ = rand.Read(b)
	return b
}

// Random returns a random 64-bit number, different in every call.
func Random() uint64 { return binary.BigEndian.Uint64(RandomBytes(8)) }

// RandomName returns 26 random characters that fit in a key.
func RandomName() string { return nameEncoding.EncodeToString(RandomBytes(16)) }

const idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"

// NewID returns a random id of 26 characters that sorts by the time now: 48 bits of milliseconds,
// then 80 random bits.
func NewID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], uint64(now.UnixMilli())<<16)
	copy(b[6:], RandomBytes(10))
	var id [26]byte
	// 26 characters hold 130 bits: two zero bits and the 128.
	var acc uint32
	bits, at := 2, 0
	for _, c := range b {
		acc = acc<<8 | uint32(c)
		bits += 8
		for bits >= 5 {
			bits -= 5
			id[at] = idAlphabet[acc>>bits&31]
			at++
		}
	}
	return string(id[:])
}

// IsID reports whether text has the form of an id from NewID.
func IsID(text string) bool {
	return len(text) == 26 && text[0] <= '7' && strings.Trim(text, idAlphabet) == ""
}
