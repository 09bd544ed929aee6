package index

import (
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
)

func TestClaim_AnyBitThatFlipsIsNoticed(t *testing.T) {
	now := uint64(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	for _, owner := range []string{"a", "7", "1048576", "u1:w10", "日本語", "ÿ", "\x00", "\x80\x00"} {
		for base := range uint64(200) {
			for _, base := range []uint64{base, now + base, 1<<49 - 1 - base} {
				value := claim{owner: owner, base: base}.encode()
				var read claim
				if !read.decode(value) || read.owner != owner || read.base != base {
					t.Fatalf("the claim of %q at %d is read as that of %q at %d", owner, base, read.owner, read.base)
				}
				for i := range 8 * len(value) {
					flipped := slices.Clone(value)
					flipped[i/8] ^= 1 << (i % 8)
					if read.decode(flipped) {
						t.Fatalf("the claim of %q at %d, %x, with the bit %d flipped is read as that of %q at %d", owner, base, value, i, read.owner, read.base)
					}
				}
			}
		}
	}
}

func TestClaim_OtherBytesAreNone(t *testing.T) {
	for _, value := range []string{"", "\x00", "\x80", "\x00a", "\x80\x00a", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xffa"} {
		if new(claim).decode([]byte(value)) {
			t.Errorf("%q is read", value)
		}
	}
}

type claimHost struct{ plug.Host }

func (claimHost) Model() string { return "Room" }
func (claimHost) DB() plug.DB   { return claimClock{} }

type claimClock struct{ plug.DB }

func (claimClock) Now() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// The change may have given it a longer lifetime than the record has so far.
func TestClaim_OfAPendingChangeIsLeftAlone(t *testing.T) {
	u := &unique{host: claimHost{}, index: "ByName"}
	rec := &plug.Seen{ID: "a", Rev: 5, Places: []string{"x"}}
	for base, writes := range map[uint64]bool{4: true, 5: false} {
		if op, ok := u.conforming(claim{owner: "a", base: base, version: 1}, rec, "x", "x"); ok != writes {
			t.Errorf("the claim of a change of rev %d, where the record has rev 5: writes %v (%v), want %v", base, ok, op, writes)
		}
	}
}
