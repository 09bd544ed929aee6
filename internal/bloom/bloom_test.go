package bloom

import (
	"fmt"
	"testing"
)

func TestFilter_KnowsOfNearlyAllAbsentKeysUntilItIsFull(t *testing.T) {
	const room = 100_000
	f := New(room)
	for i := range room {
		f.Add([]byte(fmt.Sprint("there:", i)))
	}
	known, hidden := 0, 0
	for i := range room {
		if f.Lacks(fmt.Sprint("there:", i)) {
			hidden++
		}
		if f.Lacks(fmt.Sprint("absent:", i)) {
			known++
		}
	}
	if hidden > 0 {
		t.Errorf("it lacks %d of the keys that were added", hidden)
	}
	if least := room * 98 / 100; known < least {
		t.Errorf("it knows of %d absent keys in %d, want at least %d", known, room, least)
	}
	for i := range 2000 {
		f.AddText(fmt.Sprint("more:", i))
	}
	if !f.IsFull() {
		t.Errorf("after %d keys were added it has only %d, and is not full", room+2000, f.keys.Load())
	}
}

func TestFilter_AddingAKeyAgainTakesNoRoom(t *testing.T) {
	f := New(1)
	for range 100 {
		f.AddText("key")
	}
	if got := f.keys.Load(); got != 1 {
		t.Errorf("a key that was added 100 times counts as %d", got)
	}
}

func TestRoom_IsThatOfAFilterOfSoManyBytes(t *testing.T) {
	if got := Room(12 << 20); got != 8<<20 {
		t.Errorf("12 MiB have room for %d keys, want %d", got, 8<<20)
	}
}
