package kvmodel_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestOnTrip_TellsOfTripsUntilItIsStopped(t *testing.T) {
	db, err := kvmodel.Open(memkv.New(memkv.Options{}))
	must(t, err)
	defer db.Close(t.Context())
	get := func(key string) {
		if _, err := kv.One(t.Context(), db.Store(), kv.OpGet(key)); !errors.Is(err, kv.ErrNotFound) {
			t.Fatal(err)
		}
	}
	listen := func() (keys *[]string, stop func()) {
		keys = new([]string)
		return keys, db.OnTrip(func(_ context.Context, trip kv.Trip) {
			for _, op := range trip.Ops {
				if op.Key != "format:ringtree" {
					*keys = append(*keys, op.Key)
				}
			}
		})
	}
	get("a")
	first, stopFirst := listen()
	get("b")
	second, stopSecond := listen()
	err = kv.PowersOf(db.Store()).Atomic(t.Context(), func(s kv.Store) error {
		_, err := kv.One(t.Context(), s, kv.OpSet("c", nil))
		return err
	})
	must(t, err)
	stopFirst()
	get("d")
	stopSecond()
	stopSecond()
	get("e")
	if want := []string{"b", "c"}; !slices.Equal(*first, want) {
		t.Errorf("the first has heard of %q, want %q", *first, want)
	}
	if want := []string{"c", "d"}; !slices.Equal(*second, want) {
		t.Errorf("the second has heard of %q, want %q", *second, want)
	}
}
