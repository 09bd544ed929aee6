package memkv_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestStore_KeepsTheContract(t *testing.T) {
	var offset atomic.Int64
	now := func() time.Time { return time.Unix(1_800_000_000, offset.Load()) }
	kvtest.Run(t, kvtest.Maker{
		Advance: func(d time.Duration) { offset.Add(int64(d)) },
		Open:    func(testing.TB, string) kvmodel.Store { return memkv.New(memkv.Options{Now: now}) },
	})
}

func TestStore_KeepsTheContractInRealTime(t *testing.T) {
	kvtest.Run(t, kvtest.Maker{
		Open: func(testing.TB, string) kvmodel.Store { return memkv.New(memkv.Options{}) },
	})
}
