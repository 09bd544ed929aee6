package boltkv

import (
	"encoding/binary"
	"slices"
)

// A value in a block may be packed, as an LZ4 block. Its dictionary is the value of the first item
// and its own key. Neighbors are often alike, a record has its id in its key, and all entries of a
// list have the value in its key.

const (
	leastMatch = 4         // shorter ones save nothing
	mostBack   = 1<<16 - 1 // the distance of a match
	lastMatch  = 12        // A match begins at least as far from the end,
	lastBytes  = 5         // and ends at least as far from it.

	mostInToken = 15
)

// packer packs values, one after the other.
type packer struct {
	src    []byte
	shared int // bytes of src that begin the dictionary of all values

	// By the hash of four bytes, where they were last, in the shared bytes and in the value: plus 1
	// and a base above all earlier positions, so that nothing need be cleared.
	first, last  [1 << 11]int32
	begin, begun int32 // the bases of last and first

	room [2][]byte // of build
}

const mostBase = 1 << 30

// share begins the dictionaries of the next values.
func (p *packer) share(dictionary []byte) {
	p.src, p.shared = append(p.src[:0], dictionary...), len(dictionary)
	if p.begin > mostBase {
		clear(p.first[:])
		clear(p.last[:])
		p.begin = 0
	}
	p.begun = p.begin
	for at := range len(dictionary) - leastMatch + 1 {
		p.first[p.slot(at)] = p.begun + int32(at) + 1
	}
	p.begin += int32(len(dictionary))
}

// pack appends the packed value to dst.
func (p *packer) pack(dst, key, value []byte) []byte {
	p.src = append(append(p.src[:p.shared], key...), value...)
	done := p.shared + len(key)
	for at := max(p.shared-leastMatch+1, 0); at <= len(p.src)-lastMatch; at++ {
		from := p.before(at)
		if at < done || from < 0 || at-from > mostBack {
			continue
		}
		if n := p.equal(from, at); n >= leastMatch {
			dst = appendLiterals(dst, p.src[done:at], n-leastMatch)
			dst = binary.LittleEndian.AppendUint16(dst, uint16(at-from))
			dst = appendRest(dst, n-leastMatch)
			done = at + n
		}
	}
	p.begin += int32(len(p.src))
	return appendLiterals(dst, p.src[done:], 0)
}

func (p *packer) slot(at int) uint32 {
	return binary.LittleEndian.Uint32(p.src[at:]) * 2654435761 >> 21
}

// before returns where the four bytes at at, or others with their hash, were last, -1 if nowhere.
func (p *packer) before(at int) (from int) {
	slot := p.slot(at)
	if from = int(p.last[slot]-p.begin) - 1; from < 0 {
		from = int(p.first[slot]-p.begun) - 1
	}
	p.last[slot] = p.begin + int32(at) + 1
	return from
}

func (p *packer) equal(from, at int) (n int) {
	for at+n < len(p.src)-lastBytes && p.src[from+n] == p.src[at+n] {
		n++
	}
	return n
}

// appendLiterals begins a sequence: its token, which also has the length of its match, and some
// literals.
func appendLiterals(dst, literals []byte, match int) []byte {
	dst = append(dst, byte(min(len(literals), mostInToken)<<4|min(match, mostInToken)))
	return append(appendRest(dst, len(literals)), literals...)
}

// appendRest appends the part of a length that its token does not have.
func appendRest(dst []byte, n int) []byte {
	if n < mostInToken {
		return dst
	}
	for n -= mostInToken; n >= 255; n -= 255 {
		dst = append(dst, 255)
	}
	return append(dst, byte(n))
}

// unpack returns a value of n bytes, in room if it is large enough, or false if the block is not one
// of n bytes.
func unpack(room, dictionary, block []byte, n int) (value []byte, ok bool) {
	value = slices.Grow(room[:0], n)
	for len(block) > 0 {
		token := int(block[0])
		literals, rest, ok := lengthIn(token>>4, block[1:])
		if !ok || literals > len(rest) || literals > n-len(value) {
			return nil, false
		}
		value = append(value, rest[:literals]...)
		if block = rest[literals:]; len(block) == 0 {
			return value, len(value) == n
		}
		if len(block) < 2 {
			return nil, false
		}
		from := len(value) - int(binary.LittleEndian.Uint16(block))
		match, rest, ok := lengthIn(token&mostInToken, block[2:])
		match += leastMatch
		if !ok || from == len(value) || from < -len(dictionary) || match > n-len(value) {
			return nil, false
		}
		for block = rest; match > 0; {
			some := value[max(from, 0):]
			if from < 0 {
				some = dictionary[len(dictionary)+from:]
			}
			some = some[:min(len(some), match)]
			value = append(value, some...)
			from, match = from+len(some), match-len(some)
		}
	}
	return nil, false
}

// lengthIn returns the length that begins with inToken and continues in block, and the rest.
func lengthIn(inToken int, block []byte) (n int, rest []byte, ok bool) {
	if n = inToken; n < mostInToken {
		return n, block, true
	}
	for i, b := range block {
		if n += int(b); b < 255 {
			return n, block[i+1:], true
		}
	}
	return 0, nil, false
}
