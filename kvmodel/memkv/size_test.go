package memkv_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestStore_HoldsARecordOf1KiBInLittleMore(t *testing.T) {
	const n = 20_000
	ctx := t.Context()
	s := memkv.New(memkv.Options{})
	before := heap()
	value := make([]byte, 1024)
	for i := range n {
		if err := s.Do(ctx, []kv.Op{kv.OpSet(fmt.Sprint("r:Page:", i), value)}); err != nil {
			t.Fatal(err)
		}
	}
	each := (heap() - before) / n
	t.Logf("%d bytes for each", each)
	if each > 1300 {
		t.Errorf("%d bytes for each, want at most 1300", each)
	}
	runtime.KeepAlive(s)
}
