package rediskv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// nearTo opens a store at addrs that keeps what it reads. All its gets may be answered
// from memory.
func nearTo(t testing.TB, addrs ...string) kv.Store {
	t.Helper()
	s := open(t, Options{Addrs: addrs, Track: true, Patience: time.Second})
	near, err := nearkv.New(s, nearkv.Options{Bytes: 1 << 20})
	must(t, err)
	t.Cleanup(func() { near.Close() })
	return kv.Near(near)
}

// read returns what key holds, "" for nothing, and whether memory has said so.
func read(s kv.Store, key string) (value string, near bool, err error) {
	r, err := kv.One(context.Background(), s, kv.OpGet(key))
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return string(r.Value), r.Near, err
}

// eventually waits until done, a minute at most.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// becomesNear waits until memory answers that key holds value.
func becomesNear(t *testing.T, s kv.Store, key, value string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %q, from memory", key, value), func() bool {
		got, near, err := read(s, key)
		return err == nil && near && got == value
	})
}

func set(t *testing.T, s kv.Store, key, value string) {
	t.Helper()
	if _, err := kv.One(context.Background(), s, kv.OpSet(key, []byte(value))); err != nil {
		t.Fatal(err)
	}
}

func TestChanges_OfAnotherProcessAreTold(t *testing.T) {
	for name, addrs := range map[string][]string{"server": {serverAddr(t)}, "cluster": clusterAddrs(t)} {
		t.Run(name, func(t *testing.T) {
			one, other := nearTo(t, addrs...), open(t, Options{Addrs: addrs})
			for key, change := range map[string]func(key string) kv.Op{
				"set":       func(key string) kv.Op { return kv.OpSet(key, []byte("new")) },
				"append":    func(key string) kv.Op { return kv.OpAppend(key, []byte("new")) },
				"increment": func(key string) kv.Op { return kv.OpIncrement(key, 1) },
				"delete":    kv.OpDelete,
			} {
				key := "changes:" + name + ":" + key
				set(t, other, key, "7")
				becomesNear(t, one, key, "7")
				if _, err := kv.One(t.Context(), other, change(key)); err != nil {
					t.Fatal(err)
				}
				want, _, err := read(other, key)
				must(t, err)
				becomesNear(t, one, key, want)
			}
			ending := "changes:" + name + ":ending"
			if _, err := kv.One(t.Context(), other, kv.OpSet(ending, []byte("7")).For(time.Second)); err != nil {
				t.Fatal(err)
			}
			becomesNear(t, one, ending, "")
		})
	}
}

// A server whose memory of what was read is full is slow: it forgets other keys with each
// request, and tells so.
func TestChanges_AServerRemembersOnlyWhatIsReadNear(t *testing.T) {
	server := ownServer(t)
	s := open(t, Options{Addrs: []string{server.Addr}, Track: true})
	near, err := nearkv.New(s, nearkv.Options{Bytes: 1 << 20})
	must(t, err)
	for i := range 100 {
		key := fmt.Sprint("k", i)
		set(t, near, key, "1")
		if _, _, err := read(near, key); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := read(kv.Near(near), "k7"); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.GetAll(t.Context(), kv.Near(near), "k8", "k9", "absent"); err != nil {
		t.Fatal(err)
	}
	stats, err := s.client.Do(t.Context(), s.client.B().Info().Section("stats").Build()).ToString()
	if err != nil || !strings.Contains(stats, "tracking_total_keys:4\r\n") {
		t.Errorf("it does not remember 4 keys: %v\n%s", err, stats)
	}
}

// killOthers has the server close all connections but that of s.
func killOthers(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.client.Do(t.Context(), s.client.B().ClientKill().TypeNormal().SkipmeYes().Build()).Error())
}

// knows waits until memory answers gets of keys that the process has never read: nothing stands
// there.
func knows(t *testing.T, s kv.Store) {
	t.Helper()
	try := 0
	eventually(t, "what is absent is known", func() bool {
		try++
		value, near, err := read(s, fmt.Sprint("never:", kv.RandomName(), try))
		return err == nil && near && value == ""
	})
}

func TestChanges_WhatIsAbsentIsKnownUntilSomeoneStoresIt(t *testing.T) {
	addr := serverAddr(t)
	other := open(t, Options{Addrs: []string{addr}})
	s := kv.Sparse(kv.Past(nearTo(t, addr)))
	for i := range 100 {
		key := fmt.Sprint("announced:", i)
		knows(t, s)
		set(t, other, key, "1")
		eventually(t, key+" is seen", func() bool {
			value, _, err := read(s, key)
			return err == nil && value == "1"
		})
		set(t, s, key+":own", "2")
		if value, _, err := read(s, key+":own"); err != nil || value != "2" {
			t.Fatalf("the process sees %q, %v where it has stored 2", value, err)
		}
	}
}

func TestChanges_NothingWaitsForASilentConnectionOfAnnouncements(t *testing.T) {
	var speaks atomic.Bool
	p := newProxy(t, ownServer(t).Addr, func(request []byte) bool {
		return speaks.Load() || !bytes.Contains(request, []byte("BCAST"))
	})
	near, err := nearkv.New(open(t, Options{Addrs: []string{p.Addr}, Track: true, Patience: time.Hour}), nearkv.Options{Bytes: 1 << 20})
	must(t, err)
	t.Cleanup(func() { near.Close() })
	s := kv.Sparse(near)
	set(t, s, "k", "1")
	becomesNear(t, s, "k", "1")
	if _, fromMemory, err := read(s, "absent"); fromMemory || err != nil {
		t.Errorf("what is absent is known from memory %v, %v, though no one has said it", fromMemory, err)
	}
	speaks.Store(true)
	knows(t, s)
}

// While it was cut off, the process has missed what was stored.
func TestChanges_AfterABrokenConnectionWhatIsAbsentIsListedAgain(t *testing.T) {
	addr := ownServer(t).Addr
	other := open(t, Options{Addrs: []string{addr}})
	s := kv.Sparse(kv.Past(nearTo(t, addr)))
	for i := range 5 {
		key := fmt.Sprint("missed:", i)
		knows(t, s)
		killOthers(t, other)
		set(t, other, key, "1")
		eventually(t, key+" is seen", func() bool {
			value, _, err := read(s, key)
			return err == nil && value == "1"
		})
		knows(t, s)
		if value, _, err := read(s, key); err != nil || value != "1" {
			t.Fatalf("%s is %q, %v, after it was 1", key, value, err)
		}
	}
}

func TestChanges_ABrokenConnectionEmptiesWhatIsKept(t *testing.T) {
	server := ownServer(t)
	one, other := nearTo(t, server.Addr), open(t, Options{Addrs: []string{server.Addr}})
	set(t, other, "k", "1")
	becomesNear(t, one, "k", "1")
	killOthers(t, other)
	set(t, other, "k", "2")
	becomesNear(t, one, "k", "2")
}

func TestChanges_AServerThatIsAwayIsNotAnsweredFor(t *testing.T) {
	server := keepingServer(t)
	one := nearTo(t, server.Addr)
	set(t, one, "k", "1")
	becomesNear(t, one, "k", "1")
	server.Kill()
	eventually(t, "a get is unavailable", func() bool {
		_, _, err := read(one, "k")
		return errors.Is(err, kv.ErrUnavailable)
	})
	must(t, server.Start())
	becomesNear(t, one, "k", "1")
}

func TestChanges_ASilentServerIsNotAnsweredFor(t *testing.T) {
	server := ownServer(t)
	one := nearTo(t, server.Addr)
	set(t, one, "k", "1")
	becomesNear(t, one, "k", "1")
	signal(t, server, syscall.SIGSTOP)
	eventually(t, "a get is unavailable", func() bool {
		_, _, err := read(one, "k")
		return errors.Is(err, kv.ErrUnavailable)
	})
	signal(t, server, syscall.SIGCONT)
	becomesNear(t, one, "k", "1")
}

func signal(t *testing.T, p *servers.Process, sig syscall.Signal) {
	t.Helper()
	must(t, syscall.Kill(p.Pid(), sig))
}

func TestChanges_ALostMemoryIsNotAnsweredFor(t *testing.T) {
	server := ownServer(t)
	one, other := nearTo(t, server.Addr), open(t, Options{Addrs: []string{server.Addr}})
	set(t, one, "k", "1")
	becomesNear(t, one, "k", "1")
	must(t, other.client.Do(t.Context(), other.client.B().Flushdb().Build()).Error())
	eventually(t, "a get says that the memory is lost", func() bool {
		_, _, err := read(one, "k")
		return errors.Is(err, kv.ErrLost)
	})
}

// Each process raises numbers and looks at all of them. The numbers it sees never go
// back, and are never less than its own writes.
func TestChanges_AProcessSeesNothingOlderThanItHasSeen(t *testing.T) {
	addr, ctx := serverAddr(t), t.Context()
	const processes, keys, looks = 4, 3, 300
	key := func(i int) string { return fmt.Sprint("older:", i) }
	for i := range keys {
		set(t, open(t, Options{Addrs: []string{addr}}), key(i), "0")
	}
	var group sync.WaitGroup
	for p := range processes {
		s := nearTo(t, addr)
		group.Go(func() {
			var seen [keys]int64
			for look := range looks {
				i := (look + p) % keys
				if look%8 == 0 {
					r, err := kv.One(ctx, s, kv.OpIncrement(key(i), 1))
					if err != nil || r.Number <= seen[i] {
						t.Errorf("process %d raised %s to %d, %v, after it had seen %d", p, key(i), r.Number, err, seen[i])
						return
					}
					seen[i] = r.Number
				}
				for i := range keys {
					r, err := kv.One(ctx, s, kv.OpGet(key(i)))
					n, bad := kv.ParseNumber(r.Value)
					if err != nil || bad != nil || n < seen[i] {
						t.Errorf("process %d sees %d at %s, %v, after it had seen %d", p, n, key(i), errors.Join(err, bad), seen[i])
						return
					}
					seen[i] = n
				}
			}
		})
	}
	group.Wait()
}
