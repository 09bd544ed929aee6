package nearkv_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// sparse returns a client that knows absent keys, of a hub that announces its keys.
func sparse(t *testing.T, h *hub) client {
	h.announces = true
	c := newClient(t, h, nearkv.Options{Bytes: 1 << 20})
	c.Store = kv.Sparse(kv.Past(c.Store))
	t.Cleanup(func() { c.Close() })
	synctest.Wait()
	return c
}

func TestStore_WhatIsAbsentTakesNoTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		do(t, h, kv.OpSet("there", []byte("1")))
		c := sparse(t, h)
		c.wantGet(t, "absent", "", 0)
		c.wantGet(t, "there", "1", 1)
		do(t, h, kv.OpSet("absent", []byte("2")))
		c.wantGet(t, "absent", "2", 1)
	})
}

func TestStore_ABadKeyIsNoAbsentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sparse(t, newHub())
		if _, err := kv.One(t.Context(), c, kv.OpGet("two words")); !errors.Is(err, kv.ErrBadKey) {
			t.Errorf("a get of a bad key returns %v, want an ErrBadKey", err)
		}
	})
}

func TestStore_WhatIsAbsentIsAskedForWhereItMattersNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		c := sparse(t, h)
		c.Store = kv.Near(kv.Past(c.Store))
		c.wantGet(t, "absent", "", 1)
	})
}

func TestStore_AProcessDoesNotMissWhatItHasSeenOrWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		c := sparse(t, h)
		h.mute, h.late = true, true
		c.set(t, "own", "1")
		c.wantGet(t, "own", "1", 1)
		do(t, h, kv.OpSet("seen", []byte("2")))
		do(t, kv.Past(c.Store), kv.OpGet("seen"))
		c.wantGet(t, "seen", "2", 1)
	})
}

func TestStore_WhatMayHaveBeenMissedIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		c := sparse(t, h)
		h.mute = true
		do(t, h, kv.OpSet("missed", []byte("1")))
		h.announce(nil)
		c.wantGet(t, "missed", "1", 1)
		synctest.Wait()
		c.wantGet(t, "absent", "", 0)
		h.announces = false
		c.wantGet(t, "another", "", 1)
	})
}

func TestStore_OfMoreKeysThanItHasRoomForNothingIsKnownToBeAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		for i := range 50_000 { // 64 KiB have room for 43,690.
			do(t, h.Store, kv.OpSet(fmt.Sprint("key", i), nil))
		}
		c := sparse(t, h)
		c.wantGet(t, "absent", "", 1)
		for i := range 10_000 {
			do(t, h.Store, kv.OpDelete(fmt.Sprint("key", i)))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		c.wantGet(t, "another", "", 0)
	})
}
