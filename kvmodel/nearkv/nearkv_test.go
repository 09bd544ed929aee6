package nearkv_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

func TestStore_KeepsTheContract(t *testing.T) {
	var mu sync.Mutex
	hubs, now := map[string]*hub{}, time.Now()
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	kvtest.Run(t, kvtest.Maker{
		Open: func(t testing.TB, name string) kv.Store {
			if hubs[name] == nil {
				hubs[name] = &hub{Store: memkv.New(memkv.Options{Now: clock})}
			}
			near, err := nearkv.New(&kept{hub: hubs[name]}, nearkv.Options{Bytes: 16 << 20})
			proof.Must(t, err)
			return near
		},
		Shared: true,
		Kept:   true,
		Shown:  true,
		Advance: func(d time.Duration) {
			mu.Lock()
			now = now.Add(d)
			mu.Unlock()
			for _, h := range hubs {
				h.told(nil) // Redis announces expired items.
			}
		},
	})
}

type kept struct {
	*hub
	closed atomic.Bool
}

func (k *kept) Do(ctx context.Context, ops []kv.Op) error {
	if k.closed.Load() {
		kv.Check(ops, k.Powers())
		return kv.Fail(ops, kv.ErrUnavailable)
	}
	return k.hub.Do(ctx, ops)
}

func (k *kept) Powers() kv.Powers {
	p := k.hub.Powers()
	atomic := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		if k.closed.Load() {
			return kv.ErrUnavailable
		}
		return atomic(ctx, f)
	}
	return p
}

func (k *kept) Close() error {
	k.closed.Store(true)
	return nil
}

func TestStore_WhatIsKnownTakesNoTrip(t *testing.T) {
	c := newClient(t, newHub(), nearkv.Options{})
	c.set(t, "a", "1")
	c.wantGet(t, "a", "1", 1)
	c.wantGet(t, "a", "1", 0)
	c.wantGet(t, "none", "", 1)
	c.wantGet(t, "none", "", 0)
}

func TestStore_AProcessSeesItsOwnWritesAtOnce(t *testing.T) {
	h := newHub()
	h.late = true
	c := newClient(t, h, nearkv.Options{})
	for name, write := range map[string]func(r kv.Result) (op kv.Op, want string){
		"set":    func(kv.Result) (kv.Op, string) { return kv.OpSet("k", []byte("new")), "new" },
		"swap":   func(r kv.Result) (kv.Op, string) { return kv.OpSwap("k", r.Version, []byte("new")), "new" },
		"append": func(kv.Result) (kv.Op, string) { return kv.OpAppend("k", []byte("1")), "71" },
		"count":  func(kv.Result) (kv.Op, string) { return kv.OpIncrement("k", 1), "8" },
		"delete": func(kv.Result) (kv.Op, string) { return kv.OpDelete("k"), "" },
		"drop":   func(r kv.Result) (kv.Op, string) { return kv.OpDrop("k", r.Version), "" },
	} {
		t.Run(name, func(t *testing.T) {
			c.knows(t, "k", "7")
			op, want := write(do(t, c, kv.OpGet("k")))
			do(t, c, op)
			c.wantGet(t, "k", want, 1)
			do(t, c, kv.OpSet("k", nil))
		})
	}
	t.Run("add", func(t *testing.T) {
		c.wantGet(t, "new", "", 1)
		do(t, c, kv.OpAdd("new", []byte("1")))
		c.wantGet(t, "new", "1", 1)
	})
	t.Run("transaction", func(t *testing.T) {
		c.knows(t, "k", "7")
		err := kv.PowersOf(c.Store).Atomic(c.ctx, func(s kv.Store) error {
			_, err := kv.One(c.ctx, s, kv.OpSet("k", []byte("8")))
			return err
		})
		proof.Must(t, err)
		c.wantGet(t, "k", "8", 1)
	})
}

func TestStore_WhatOthersChangeIsSeenWhenItIsTold(t *testing.T) {
	h := newHub()
	one, other := newClient(t, h, nearkv.Options{}), newClient(t, h, nearkv.Options{})
	one.knows(t, "k", "1")
	h.late = true
	other.set(t, "k", "2")
	one.wantGet(t, "k", "1", 0) // A flight ago that was current.
	h.tell()
	one.wantGet(t, "k", "2", 1)
	one.wantGet(t, "k", "2", 0)
	h.told(nil)
	one.wantGet(t, "k", "2", 1)
	h.deaf = true
	one.wantGet(t, "k", "2", 1)
}

func TestStore_WhatAChangeRestsOnIsReadFromTheStore(t *testing.T) {
	h := newHub()
	one, other := newClient(t, h, nearkv.Options{}), newClient(t, h, nearkv.Options{})
	one.knows(t, "k", "1")
	h.late = true
	other.set(t, "k", "2")
	if r := do(t, kv.Past(one.Store), kv.OpGet("k")); string(r.Value) != "2" {
		t.Errorf("the store shows %q", r.Value)
	}
	one.wantGet(t, "k", "2", 1)
}

func TestStore_WhatIsReadTogetherWasThereAtOneTime(t *testing.T) {
	h := newHub()
	told := &afterwards{Store: h}
	c := newClient(t, told, nearkv.Options{})
	for _, key := range []string{"a", "b"} {
		c.knows(t, key, "old")
	}
	h.told([]string{"b"})
	h.late = true
	do(t, h, kv.OpSet("a", []byte("new")))
	do(t, h, kv.OpSet("b", []byte("new")))
	told.do = h.tell // As a server does, on the connection of the answer.
	results, err := kv.GetAll(c.ctx, c, "a", "b")
	if err != nil || string(results[0].Value) != "new" || string(results[1].Value) != "new" {
		t.Errorf("a is %q and b is %q, %v; they were not so at any one time", results[0].Value, results[1].Value, err)
	}
}

func TestStore_ATripAsksForWhatIsNotKnown(t *testing.T) {
	c := newClient(t, newHub(), nearkv.Options{})
	for _, key := range []string{"a", "b", "c"} {
		c.set(t, key, "1")
	}
	c.wantGet(t, "a", "1", 1)
	before := c.Cost()
	results, err := kv.GetAll(c.ctx, c, "b", "a", "c")
	if err != nil || !results[1].Near || results[0].Near || results[2].Near {
		t.Errorf("a, b and c are %+v, %v; a alone was known", results, err)
	}
	if cost := c.Cost(); cost.Trips-before.Trips != 1 {
		t.Errorf("that took %d trips, want 1", cost.Trips-before.Trips)
	}
	c.wantGet(t, "c", "1", 0)
}

func TestStore_ATripAsksForWhatMustNotComeFromMemoryAlone(t *testing.T) {
	c := newClient(t, newHub(), nearkv.Options{})
	for _, key := range []string{"a", "b"} {
		c.set(t, key, "1")
	}
	c.wantGet(t, "a", "1", 1)
	ops := []kv.Op{kv.OpGet("b"), kv.OpGet("a")}
	ops[1].Near = true
	err := c.Do(c.ctx, ops)
	if err != nil || !ops[1].Result.Near || ops[0].Result.Near || string(ops[0].Result.Value) != "1" {
		t.Errorf("b and a are %+v, %v; a was known", ops, err)
	}
}

func TestStore_WhatWasReadBeforeAChangeIsNotKept(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(h *hub)
	}{
		{"of the key", func(h *hub) { do(t, h, kv.OpSet("k", []byte("new"))) }},
		{"of any key", func(h *hub) { do(t, h.Store, kv.OpSet("k", []byte("new"))); h.told(nil) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHub()
			do(t, h, kv.OpSet("k", []byte("old")))
			slow := &afterwards{Store: h, do: func() { test.change(h) }}
			c := newClient(t, slow, nearkv.Options{})
			c.wantGet(t, "k", "old", 1)
			c.wantGet(t, "k", "new", 1)
		})
	}
}

// afterwards calls do once, between its first ops and their answer.
type afterwards struct {
	kv.Store
	do func()
}

func (a *afterwards) Powers() kv.Powers { return kv.PowersOf(a.Store) }

func (a *afterwards) Do(ctx context.Context, ops []kv.Op) error {
	err := a.Store.Do(ctx, ops)
	if a.do != nil {
		do := a.do
		a.do = nil
		do()
	}
	return err
}

type silent struct{ kv.Store }

func TestStore_WithAnAgeAnAnswerIsNotOlder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		c := newClient(t, silent{mem}, nearkv.Options{Age: 500 * time.Millisecond})
		c.knows(t, "k", "1")
		do(t, mem, kv.OpSet("k", []byte("2")))
		time.Sleep(500 * time.Millisecond)
		c.wantGet(t, "k", "1", 0)
		time.Sleep(time.Millisecond)
		c.wantGet(t, "k", "2", 1)
		c.knows(t, "k", "3")
	})
}

func TestStore_WithAnAgeNothingOlderIsShownThanWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		slow := &afterwards{Store: silent{mem}}
		c := newClient(t, slow, nearkv.Options{Age: time.Minute})
		do(t, mem, kv.OpSet("k", []byte("1")))
		// While a get of the old value is in flight, another shows the new one.
		slow.do = func() {
			do(t, mem, kv.OpSet("k", []byte("2")))
			c.wantGet(t, "k", "2", 1)
		}
		c.wantGet(t, "k", "1", 2)
		c.wantGet(t, "k", "2", 1)

		slow.do = func() {
			do(t, mem, kv.OpSet("k", []byte("3")))
			do(t, kv.Past(c.Store), kv.OpGet("k"))
		}
		do(t, c, kv.OpSet("other", nil))
	})
}

func TestStore_AnErrorIsNotKept(t *testing.T) {
	h := newHub()
	do(t, h, kv.OpSet("k", []byte("1")))
	c := newClient(t, &telling{kvtest.Faulty(h, 1, kvtest.Unsent), h}, nearkv.Options{})
	proof.Ends(t, kv.ErrUnavailable)(kv.One(c.ctx, c, kv.OpGet("k")))
	c.wantGet(t, "k", "1", 1)
}

type telling struct {
	kv.Store
	hub *hub
}

func (s *telling) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	p.Changes = s.hub
	return p
}

func TestStore_AClosedStoreAnswersNothing(t *testing.T) {
	h := newHub()
	c := newClient(t, h, nearkv.Options{})
	c.knows(t, "k", "1")
	proof.Must(t, c.Close())
	proof.Ends(t, kv.ErrUnavailable)(kv.One(c.ctx, c, kv.OpGet("k")))
}

func TestStore_AnEndedContextIsAnsweredByTheStore(t *testing.T) {
	c := newClient(t, newHub(), nearkv.Options{})
	c.knows(t, "k", "1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	proof.Ends(t, kv.ErrUnavailable)(kv.One(ctx, c, kv.OpGet("k")))
}

func TestStore_AValueFromTheStoreBelongsToTheCaller(t *testing.T) {
	c := newClient(t, newHub(), nearkv.Options{})
	c.set(t, "k", "abc")
	do(t, c, kv.OpGet("k")).Value[0] = 'x' // It was read from the store, and is kept.
	do(t, kv.Past(c.Store), kv.OpGet("k")).Value[0] = 'x'
	if r := do(t, c, kv.OpGet("k")); string(r.Value) != "abc" {
		t.Errorf("the value is %q", r.Value)
	}
}

type lossy struct {
	*hub
	watch func([]string, error)
}

func (l *lossy) Powers() kv.Powers {
	p := l.hub.Powers()
	p.Losses = watched{l: l}
	return p
}

type watched struct {
	kv.Losses
	l *lossy
}

func (w watched) Watch(f func([]string, error)) { w.l.watch = f }

func TestStore_ALossEmptiesIt(t *testing.T) {
	l := &lossy{hub: newHub()}
	c := newClient(t, l, nearkv.Options{})
	for _, err := range []error{kv.ErrLost, nil} {
		do(t, l.hub, kv.OpSet("k", []byte("1")))
		c.wantGet(t, "k", "1", 1)
		do(t, l.Store, kv.OpDelete("k"))
		l.watch([]string{"a server"}, err)
		c.wantGet(t, "k", "", 1)
	}
}

func TestStore_HoldsNoMoreThanItMay(t *testing.T) {
	h := newHub()
	c := newClient(t, h, nearkv.Options{Bytes: 1 << 20})
	value := strings.Repeat("x", 1000)
	const n = 5000
	for i := range n {
		do(t, h.Store, kv.OpSet(fmt.Sprint(i), []byte(value)))
		c.wantGet(t, fmt.Sprint(i), value, 1)
		if i > 0 {
			c.wantGet(t, "0", value, 0)
		}
	}
	known := 0
	for i := range n {
		before := c.Cost().Trips
		proof.Done(t)(kv.One(c.ctx, c, kv.OpGet(fmt.Sprint(i))))
		// New keys push others out.
		if c.Cost().Trips == before {
			known++
		}
	}
	if most := 1 << 20 / 1000; known > most {
		t.Errorf("%d items of 1000 bytes are known, of %d bytes", known, 1<<20)
	}
	c.set(t, "large", strings.Repeat("x", 900_000))
	c.wantGet(t, "large", strings.Repeat("x", 900_000), 1)
	c.wantGet(t, "large", strings.Repeat("x", 900_000), 1)
}

func TestNew_SaysWhatIsWrong(t *testing.T) {
	for _, test := range []struct {
		s    kv.Store
		opts nearkv.Options
		want string
	}{
		{newHub(), nearkv.Options{}, "0 bytes are too few"},
		{newHub(), nearkv.Options{Bytes: 1 << 20, Age: -1}, "Age must not be negative"},
		{silent{newHub()}, nearkv.Options{Bytes: 1 << 20}, "does not announce changes"},
	} {
		if _, err := nearkv.New(test.s, test.opts); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: got %v, want %s", test.opts, err, test.want)
		}
	}
}

// sparse returns a client that knows absent keys, of a hub that announces its keys.
func sparse(t *testing.T, h *hub) client {
	h.announces = true
	c := newClient(t, h, nearkv.Options{Bytes: 1 << 20})
	c.Store = kv.Sparse(kv.Past(c.Store))
	t.Cleanup(func() { c.Close() })
	synctest.Wait()
	return c
}

func TestStore_WhatIsAbsentTakesNoTrip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		do(t, h, kv.OpSet("there", []byte("1")))
		c := sparse(t, h)
		c.wantGet(t, "absent", "", 0)
		c.wantGet(t, "there", "1", 1)
		do(t, h, kv.OpSet("absent", []byte("2")))
		c.wantGet(t, "absent", "2", 1)
	})
}

func TestStore_ABadKeyIsNoAbsentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := sparse(t, newHub())
		proof.Ends(t, kv.ErrBadKey)(kv.One(t.Context(), c, kv.OpGet("two words")))
	})
}

func TestStore_WhatIsAbsentIsAskedForWhereItMattersNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		c := sparse(t, h)
		c.Store = kv.Near(kv.Past(c.Store))
		c.wantGet(t, "absent", "", 1)
	})
}

func TestStore_AProcessDoesNotMissWhatItHasSeenOrWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		c := sparse(t, h)
		h.mute, h.late = true, true
		c.set(t, "own", "1")
		c.wantGet(t, "own", "1", 1)
		do(t, h, kv.OpSet("seen", []byte("2")))
		do(t, kv.Past(c.Store), kv.OpGet("seen"))
		c.wantGet(t, "seen", "2", 1)
	})
}

func TestStore_WhatMayHaveBeenMissedIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		c := sparse(t, h)
		h.mute = true
		do(t, h, kv.OpSet("missed", []byte("1")))
		h.announce(nil)
		c.wantGet(t, "missed", "1", 1)
		synctest.Wait()
		c.wantGet(t, "absent", "", 0)
		h.announces = false
		c.wantGet(t, "another", "", 1)
	})
}

func TestStore_OfMoreKeysThanItHasRoomForNothingIsKnownToBeAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHub()
		for i := range 50_000 { // 64 KiB have room for 43,690.
			do(t, h.Store, kv.OpSet(fmt.Sprint("key", i), nil))
		}
		c := sparse(t, h)
		c.wantGet(t, "absent", "", 1)
		for i := range 10_000 {
			do(t, h.Store, kv.OpDelete(fmt.Sprint("key", i)))
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		c.wantGet(t, "another", "", 0)
	})
}
