package codec_test

import (
	"runtime"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

func TestSize_IsAboutWhatACopyTakes(t *testing.T) {
	const many = 2000
	first, copies := newPantry(), make([]*sample.Pantry, many)
	before := liveBytes()
	for i := range copies {
		copies[i] = new(sample.Pantry)
		sample.Pantries().CopyTo(copies[i], first)
	}
	took := int(liveBytes()-before) / many
	if size := codec.Size(copies[0], true); size < took*2/3 || size > took*3/2 {
		t.Errorf("a copy takes %d bytes, Size says %d", took, size)
	}
	runtime.KeepAlive(copies)
}

func TestSize_CountsTextsThatAreNotShared(t *testing.T) {
	v := &struct{ Texts []string }{[]string{"four", "sixsix"}}
	if got, want := codec.Size(v, false)-codec.Size(v, true), len("foursixsix"); got != want {
		t.Errorf("texts take %d bytes, want %d", got, want)
	}
}

func liveBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
