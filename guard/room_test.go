package guard_test

import (
	"testing"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
)

func TestRoom_LeavesPlacesForOthers(t *testing.T) {
	room := &guard.Room{Most: 3, MostFrom: 2}
	var leave []func()
	for i, want := range []bool{true, true, false} {
		left, ok := room.Enter("192.0.2.1")
		if ok != want {
			t.Fatalf("%d: want %v, got %v", i, want, ok)
		}
		leave = append(leave, left)
	}
	if _, ok := room.Enter("192.0.2.2"); !ok {
		t.Error("want a place for another address")
	}
	if _, ok := room.Enter("192.0.2.3"); ok {
		t.Error("want no place, as all are taken")
	}
	leave[0]()
	if _, ok := room.Enter("192.0.2.3"); !ok {
		t.Error("want the place that was left")
	}
}

func TestLocal_IsNoAddressOfAnotherSite(t *testing.T) {
	for path, want := range map[string]string{
		"/p/tea?a=b#c": "/p/tea?a=b#c", "": "/", "p": "/", "//evil.example": "/", `/\evil.example`: "/",
		"https://evil.example/": "/", "javascript:alert(1)": "/", "/\t/evil.example": "/",
	} {
		proof.Equal(t, guard.Local(path), want, "%q", path)
	}
}
