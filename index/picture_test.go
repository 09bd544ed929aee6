package index_test

import (
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestList_Picture_ShowsTheKeysThatAreStored(t *testing.T) {
	s := memkv.New(memkv.Options{})
	b := openSweep(s)
	closing(t, b.db)
	for i := range 5 {
		must(t, b.Create(t.Context(), &book{ID: fmt.Sprint("b", i), Author: "ann"}))
	}
	must(t, b.Delete(t.Context(), "b3"))
	must(t, b.db.Flush(t.Context()))
	p, err := b.ByAuthor.Of("ann").Picture(t.Context(), 10)
	if err != nil || len(p.Segments) != 1 || p.Segments[0].Live != 4 || p.Words != "" {
		t.Fatalf("want a segment of four, got %+v, %v", p, err)
	}
	got, err := kv.One(t.Context(), s, kv.OpGet(p.Segments[0].Key))
	if err != nil || len(got.Value) != p.Segments[0].Bytes {
		t.Errorf("%s has %d bytes, %v, and the picture says %d", p.Segments[0].Key, len(got.Value), err, p.Segments[0].Bytes)
	}
	if p, err = b.ByAuthor.Of("nobody").Picture(t.Context(), 10); err != nil || len(p.Segments) > 0 && p.Segments[0].Live > 0 {
		t.Errorf("of nobody: want nothing, got %+v, %v", p, err)
	}
}
