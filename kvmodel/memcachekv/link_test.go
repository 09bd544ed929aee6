package memcachekv

import (
	"errors"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestLane_Failure_IsUnclearOnlyOnceTheRequestWasWrittenInFull(t *testing.T) {
	const timeout = 200 * time.Millisecond
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	l := &link{server: newServer("a:1", Options{Timeout: timeout, Conns: 1}), ctx: t.Context()}
	l.asked = true // as the previous request left it
	w := &wire{Conn: near, link: l}

	w.SetDeadline(time.Now().Add(timeout))
	_, err := w.Write([]byte("delete k\r\n"))
	if got := l.failure(kv.Delete, err); !errors.Is(got, kv.ErrUnavailable) {
		t.Errorf("a write that no one received is %v, want ErrUnavailable", got)
	}

	go io.Copy(io.Discard, far)
	w.SetDeadline(time.Now().Add(timeout))
	if _, err := w.Write([]byte("delete k\r\n")); err != nil {
		t.Fatal(err)
	}
	_, err = w.Read(make([]byte, 10))
	if got := l.failure(kv.Delete, err); !errors.Is(got, kv.ErrUnclear) {
		t.Errorf("a write that no one answered is %v, want ErrUnclear", got)
	}
}

func TestLink_Batch_WhatWasNotWrittenInFullIsUnavailable(t *testing.T) {
	const timeout = 200 * time.Millisecond
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	l := newLink(newServer("a:1", Options{Timeout: timeout, Conns: 1}))
	l.ctx = t.Context()
	l.conn = &wire{Conn: near, link: l}
	// Two of three commands arrive, and one byte.
	const command = "add k0 0 0 1\r\nv\r\n"
	go io.ReadFull(far, make([]byte, 2*len(command)+1))
	var ops []*kv.Op
	for _, key := range []string{"k0", "k1", "k2"} {
		op := kv.OpAdd(key, []byte("v"))
		ops = append(ops, &op)
	}
	get := kv.OpGet("k")
	l.batch(slices.Clone(ops), []*kv.Op{&get})
	for i, want := range []error{kv.ErrUnclear, kv.ErrUnclear, kv.ErrUnavailable} {
		if err := ops[i].Result.Err; !errors.Is(err, want) {
			t.Errorf("add %d ended in %v, want %v", i, err, want)
		}
	}
	if err := get.Result.Err; !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("the get ended in %v, want ErrUnavailable", err)
	}
}
