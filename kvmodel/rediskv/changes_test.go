package rediskv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// nearTo opens a store with a cache. All its gets may be answered from memory.
func nearTo(t testing.TB, addrs ...string) kv.Store {
	t.Helper()
	s := open(t, Options{Addrs: addrs, Track: true, Patience: time.Second})
	near, err := nearkv.New(s, nearkv.Options{Bytes: 1 << 20})
	must(t, err)
	t.Cleanup(func() { near.Close() })
	return kv.Near(near)
}

// read returns the value of key, "" if absent, and whether memory answered.
func read(s kv.Store, key string) (value string, near bool, err error) {
	r, err := kv.One(context.Background(), s, kv.OpGet(key))
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return string(r.Value), r.Near, err
}

func eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

func becomesNear(t *testing.T, s kv.Store, key, value string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %q, from memory", key, value), func() bool {
		got, near, err := read(s, key)
		return err == nil && near && got == value
	})
}

func set(t *testing.T, s kv.Store, key, value string) {
	t.Helper()
	mustDo(t, s, kv.OpSet(key, []byte(value)))
}

func sees(t *testing.T, s kv.Store, key, want string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s is %q", key, want), func() bool {
		value, _, err := read(s, key)
		return err == nil && value == want
	})
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
				mustDo(t, other, change(key))
				want, _, err := read(other, key)
				must(t, err)
				becomesNear(t, one, key, want)
			}
			ending := "changes:" + name + ":ending"
			mustDo(t, other, kv.OpSet(ending, []byte("7")).For(time.Second))
			becomesNear(t, one, ending, "")
		})
	}
}

// A server whose table of tracked keys is full forgets other keys with each request, and announces
// them.
func TestChanges_AServerRemembersOnlyWhatIsReadNear(t *testing.T) {
	server := ownServer(t)
	s := open(t, Options{Addrs: []string{server.Addr}, Track: true})
	near, err := nearkv.New(s, nearkv.Options{Bytes: 1 << 20})
	must(t, err)
	for i := range 100 {
		key := fmt.Sprint("k", i)
		set(t, near, key, "1")
		mustDo(t, near, kv.OpGet(key))
	}
	mustDo(t, kv.Near(near), kv.OpGet("k7"))
	proof.Done(t)(kv.GetAll(t.Context(), kv.Near(near), "k8", "k9", "absent"))
	stats, err := s.client.Do(t.Context(), s.client.B().Info().Section("stats").Build()).ToString()
	if err != nil || !strings.Contains(stats, "tracking_total_keys:4\r\n") {
		t.Errorf("it does not remember 4 keys: %v\n%s", err, stats)
	}
}

func killOthers(t *testing.T, s *Store) {
	t.Helper()
	must(t, s.client.Do(t.Context(), s.client.B().ClientKill().TypeNormal().SkipmeYes().Build()).Error())
}

// knows waits until memory knows absent keys.
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
		sees(t, s, key, "1")
		set(t, s, key+":own", "2")
		wantValue(t, s, key+":own", "2")
	}
}

func TestChanges_NothingWaitsForASilentConnectionOfAnnouncements(t *testing.T) {
	speaks := make(chan struct{})
	addr := proxy(t, ownServer(t).Addr, func(chunk []byte) bool {
		if bytes.Contains(chunk, []byte("BCAST")) {
			select {
			case <-speaks:
			case <-t.Context().Done():
			}
		}
		return true
	})
	near, err := nearkv.New(open(t, Options{Addrs: []string{addr}, Track: true, Patience: time.Hour}), nearkv.Options{Bytes: 1 << 20})
	must(t, err)
	t.Cleanup(func() { near.Close() })
	s := kv.Sparse(near)
	set(t, s, "k", "1")
	becomesNear(t, s, "k", "1")
	if _, fromMemory, err := read(s, "absent"); fromMemory || err != nil {
		t.Errorf("what is absent is known from memory %v, %v, though no one has said it", fromMemory, err)
	}
	close(speaks)
	knows(t, s)
}

// While it was cut off, the process has missed writes.
func TestChanges_AfterABrokenConnectionNothingIsKeptAndAbsentKeysAreListedAgain(t *testing.T) {
	addr := ownServer(t).Addr
	one, other := nearTo(t, addr), open(t, Options{Addrs: []string{addr}})
	set(t, other, "k", "0")
	s := kv.Sparse(kv.Past(one))
	for i := range 2 {
		key, now := fmt.Sprint("missed:", i), fmt.Sprint(i+1)
		knows(t, s)
		becomesNear(t, one, "k", fmt.Sprint(i))
		killOthers(t, other)
		set(t, other, key, "1")
		set(t, other, "k", now)
		sees(t, s, key, "1")
		becomesNear(t, one, "k", now)
		knows(t, s)
		wantValue(t, s, key, "1")
	}
}

func TestChanges_AServerThatDoesNotAnswerIsNotAnsweredFor(t *testing.T) {
	for name, test := range map[string]struct{ leave, comeBack func(p *servers.Process) }{
		"away":   {func(p *servers.Process) { p.Kill() }, func(p *servers.Process) { must(t, p.Start()) }},
		"silent": {func(p *servers.Process) { freeze(t, p) }, func(p *servers.Process) { thaw(t, p) }},
	} {
		t.Run(name, func(t *testing.T) {
			server := keepingServer(t)
			one := nearTo(t, server.Addr)
			set(t, one, "k", "1")
			becomesNear(t, one, "k", "1")
			test.leave(server)
			eventually(t, "a get is unavailable", func() bool {
				_, _, err := read(one, "k")
				return errors.Is(err, kv.ErrUnavailable)
			})
			test.comeBack(server)
			becomesNear(t, one, "k", "1")
		})
	}
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

// badNetwork returns a proxy of the server at addr. Once it is bad, it delays, pauses and cuts
// connections.
func badNetwork(t *testing.T, addr string, bad *atomic.Bool, cuts *atomic.Int64) string {
	return proxy(t, addr, func([]byte) bool {
		if !bad.Load() {
			return true
		}
		switch n := rand.IntN(1000); {
		case n < 2:
			cuts.Add(1)
			return false
		case n < 3:
			kv.Sleep(t.Context(), 400*time.Millisecond)
		case n < 300:
			kv.Sleep(t.Context(), rand.N(3*time.Millisecond))
		}
		return true
	})
}

// Each process raises two numbers in one trip, adds keys, and reads all of it through a network of
// its own.
func TestChanges_BehindABadNetworkNothingIsOlderThanSeenOrOfTwoMoments(t *testing.T) {
	server := ownServer(t)
	set(t, openAt(t, server.Addr), "left", "0")
	set(t, openAt(t, server.Addr), "right", "0")
	var bad atomic.Bool
	var cuts, known, absent atomic.Int64
	const processes, looks = 4, 200
	all := make([]*onlooker, processes)
	for p := range all {
		all[p] = &onlooker{Store: kv.Past(nearTo(t, badNetwork(t, server.Addr, &bad, &cuts))), name: fmt.Sprint(p)}
	}
	bad.Store(true)
	var group sync.WaitGroup
	for p, l := range all {
		group.Go(func() {
			for i := 0; i < looks || cuts.Load() < 10 || known.Load() < 100 || absent.Load() < 100; i++ {
				if i%(2*processes) == 2*p {
					l.write(t.Context(), i)
				}
				if err := l.look(t.Context(), &known); err != nil {
					t.Errorf("process %d: %v", p, err)
					return
				}
				if _, near, _ := read(kv.Sparse(l.Store), fmt.Sprint("none:", p, ":", i)); near {
					absent.Add(1)
				}
			}
		})
	}
	group.Wait()
	bad.Store(false)
	last, _, err := read(openAt(t, server.Addr), "left")
	must(t, err)
	for _, l := range all {
		becomesNear(t, kv.Near(l.Store), "left", last)
	}
}

// onlooker is a process that remembers what it has seen and written.
type onlooker struct {
	kv.Store
	name string
	seen int64
	own  []string
}

func (l *onlooker) write(ctx context.Context, i int) {
	key := fmt.Sprintf("own:%s:%d", l.name, i)
	ops := []kv.Op{kv.OpIncrement("left", 1), kv.OpIncrement("right", 1), kv.OpSet(key, nil)}
	if l.Do(ctx, ops) == nil {
		l.seen, l.own = max(l.seen, ops[0].Result.Number), append(l.own, key)
	}
}

// look returns an error if the result is impossible, and counts answers from memory.
func (l *onlooker) look(ctx context.Context, known *atomic.Int64) error {
	if rand.IntN(2) == 0 {
		_, _, _ = read(kv.Near(l.Store), "left") // Without the other one.
	}
	results, err := kv.GetAll(ctx, kv.Near(l.Store), "left", "right")
	if err != nil {
		return nil
	}
	if results[0].Near {
		known.Add(1)
	}
	left, bad := kv.ParseNumber(results[0].Value)
	right, worse := kv.ParseNumber(results[1].Value)
	if err := errors.Join(bad, worse); err != nil || left != right || left < l.seen {
		return fmt.Errorf("it sees %d and %d, after it had seen %d; %v", left, right, l.seen, err)
	}
	l.seen = left
	for _, key := range l.own {
		if r, err := kv.One(ctx, kv.Sparse(l.Store), kv.OpGet(key)); errors.Is(err, kv.ErrNotFound) {
			return fmt.Errorf("it does not see %s, which it has stored; from memory: %v", key, r.Near)
		}
	}
	return nil
}
