package rediskv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestOpen_BadOptionsAreNamed(t *testing.T) {
	for want, opts := range map[string]Options{
		"no address":                {},
		`"localhost"`:               {Addrs: []string{"localhost"}},
		"must not be negative":      {Addrs: []string{"127.0.0.1:1"}, WaitReplicas: -1},
		"127.0.0.1:1: store unavai": {Addrs: []string{"127.0.0.1:1"}},
	} {
		s, err := Open(within(t, 5*time.Second), opts)
		if err == nil {
			s.Close()
			t.Errorf("Open(%+v) succeeded", opts)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("Open(%+v) = %v, want it to say %s", opts, err, want)
		}
	}
}

func TestPowers_OnlyASingleServerIsOrdered(t *testing.T) {
	for name, s := range bothStores(t) {
		want := kv.Powers{Unless: true, Ordered: name == "server", Patience: 5 * time.Second, Losses: s.memory.Load()}
		got := s.Powers()
		if got.Outages == nil {
			t.Errorf("%s: no one can hear of outages", name)
		}
		if got.Keys == nil {
			t.Errorf("%s: no one can list its keys", name)
		}
		if got.Findings == nil {
			t.Errorf("%s: no one can ask how its servers are set up", name)
		}
		got.Outages, got.Keys, got.Findings = nil, nil, nil
		if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(kv.Powers{}), cmp.Comparer(func(a, b kv.Losses) bool { return a == b })); diff != "" {
			t.Errorf("%s: powers mismatch (-want +got):\n%s", name, diff)
		}
	}
}

func TestStore_Increment_IsExactUpToTheLargestNumber(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	edges := []int64{
		0, 1, 9, 999_999_999, 1_000_000_000, 1_000_000_001, 1<<53 - 1, 1 << 53, 1<<53 + 1,
		kv.MaxNumber - 1, kv.MaxNumber,
	}
	number := func() int64 {
		if random.IntN(2) == 0 {
			return edges[random.IntN(len(edges))]
		}
		return random.Int64N(kv.MaxNumber) >> random.IntN(63)
	}
	s := openAt(t, serverAddr(t))
	for range 2000 {
		start, delta := number(), number()
		if random.IntN(2) == 0 {
			delta = -delta
		}
		ops := []kv.Op{kv.OpSet("exact", fmt.Appendf(nil, "%s%d", strings.Repeat("0", random.IntN(3)), start)), kv.OpIncrement("exact", delta)}
		must(t, s.Do(within(t, time.Minute), ops))
		got := ops[1].Result
		if tooLarge := delta > kv.MaxNumber-start; tooLarge != errors.Is(got.Err, kv.ErrNotNumber) || !tooLarge && got.Number != max(start+delta, 0) {
			t.Errorf("%s and %d are %d, %v", ops[0].Value, delta, got.Number, got.Err)
		}
	}
}

func TestStore_ScriptsAreLoadedAgainAfterTheServerForgotThem(t *testing.T) {
	addr := serverAddr(t)
	s := openAt(t, addr)
	mustDo(t, s, kv.OpSet("forgot", []byte("1")))
	mustDo(t, s, kv.OpIncrement("forgot", 1))
	raw(t, addr, "SCRIPT", "FLUSH")
	wantNumber(t, s, kv.OpIncrement("forgot", 1), 3)
	raw(t, addr, "SCRIPT", "FLUSH")
	ops := []kv.Op{kv.OpAppend("forgot", []byte("4")), kv.OpGet("forgot")}
	must(t, s.Do(within(t, time.Second), ops))
	proof.Equal(t, string(ops[1].Result.Value), "34", "the trip after SCRIPT FLUSH left")
}

func TestStore_MoreThanOneGetIsOneCommand(t *testing.T) {
	p, s := ownStore(t)
	do(t, s, kv.OpGet("k"))
	raw(t, p.Addr, "CONFIG", "RESETSTAT")
	ops := make([]kv.Op, 20)
	for i := range ops {
		ops[i] = kv.OpGet(fmt.Sprintf("k:%d", i))
	}
	must(t, s.Do(within(t, time.Second), ops))
	if stats := commands(t, p); !strings.Contains(stats, "cmdstat_mget:calls=1,") || strings.Contains(stats, "cmdstat_get:") {
		t.Errorf("a trip of 20 gets was not one MGET:\n%s", stats)
	}
}

func TestStore_ATripThatOnlySetsAddsAndDeletesRunsNoScript(t *testing.T) {
	p, s := ownStore(t)
	mustDo(t, s, kv.OpSet("there", nil))
	raw(t, p.Addr, "RPUSH", "list", "x")
	raw(t, p.Addr, "CONFIG", "RESETSTAT")
	ops := []kv.Op{
		kv.OpSet("k", []byte("1")), kv.OpAdd("k", nil), kv.OpAdd("l", []byte("2")).For(time.Minute), kv.OpDelete("absent"),
		kv.OpDelete("there"), kv.OpAdd("there", []byte("3")), kv.OpAdd("list", nil), kv.OpSet("list", []byte("4")),
	}
	must(t, s.Do(within(t, time.Minute), ops))
	for i, want := range []error{nil, kv.ErrExists, nil, kv.ErrNotFound, nil, nil, kv.ErrExists, nil} {
		proof.Is(t, ops[i].Result.Err, want)
	}
	if stats := commands(t, p); !strings.Contains(stats, "cmdstat_exec:calls=1,") || strings.Contains(stats, "cmdstat_eval") {
		t.Errorf("the trip was not one block:\n%s", stats)
	}
	for key, want := range map[string]string{"k": "1", "l": "2", "there": "3", "list": "4"} {
		wantValue(t, s, key, want)
	}
	if ttl, err := raw(t, p.Addr, "PTTL", "l").AsInt64(); err != nil || ttl <= 0 || ttl > time.Minute.Milliseconds() {
		t.Errorf("l expires in %d ms, %v, want at most a minute", ttl, err)
	}
}

func TestStore_ABlockThatTheServerRefusesChangesNothing(t *testing.T) {
	p, s := ownStore(t)
	mustDo(t, s, kv.OpSet("old", []byte("old")))
	raw(t, p.Addr, "CONFIG", "SET", "maxmemory", "1")
	ops := []kv.Op{kv.OpDelete("old"), kv.OpSet("new", nil), kv.OpDelete("old")}
	if err := s.Do(within(t, time.Minute), ops); !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("Do = %v, want ErrUnavailable that says OOM", err)
	}
	for _, op := range ops {
		if err := op.Result.Err; !errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrUnclear) {
			t.Errorf("%v %s ended in %v", op.Kind, op.Key, err)
		}
	}
	mustDo(t, s, kv.OpGet("old"))
}

func TestStore_AKeyThatHoldsSomethingElseIsAClearError(t *testing.T) {
	for name, s := range bothStores(t) {
		for what, plant := range map[string][]string{
			"list":  {"RPUSH", "key", "x"},
			"text":  {"SET", "key", "hello, world"},
			"short": {"SET", "key", "\xf5"},
			"empty": {"SET", "key", ""},
		} {
			t.Run(name+"/"+what, func(t *testing.T) { foreignKey(t, s, plant) })
		}
	}
}

func foreignKey(t *testing.T, s *Store, plant []string) {
	key := strings.ReplaceAll(t.Name(), "/", ":")
	put := func() {
		cmd := s.client.B().Arbitrary(plant[0]).Keys(key).Args(plant[2:]...).Build()
		s.client.Do(context.Background(), s.client.B().Del().Key(key).Build())
		must(t, s.client.Do(context.Background(), cmd).Error())
	}
	put()
	for _, op := range []kv.Op{
		kv.OpGet(key), kv.OpSwap(key, 1, nil), kv.OpDrop(key, 1),
		kv.OpAppend(key, []byte("x")), kv.OpIncrement(key, 1),
	} {
		if r := do(t, s, op); !errors.Is(r.Err, kv.ErrUnavailable) {
			t.Errorf("%v = %v, want ErrUnavailable", op.Kind, r.Err)
		}
	}
	if r := do(t, s, kv.OpAdd(key, nil)); !errors.Is(r.Err, kv.ErrExists) {
		t.Errorf("add = %v, want ErrExists", r.Err)
	}
	mustDo(t, s, kv.OpSet(key, []byte("mine")))
	wantValue(t, s, key, "mine")
	put()
	mustDo(t, s, kv.OpDelete(key))
}

func TestStore_AnOrderedTripStopsAtTheFirstOpThatFails(t *testing.T) {
	addr := serverAddr(t)
	s := openAt(t, addr)
	raw(t, addr, "DEL", "stop:foreign", "stop:after")
	raw(t, addr, "RPUSH", "stop:foreign", "x")
	ops := []kv.Op{
		kv.OpSet("stop:before", []byte("1")), kv.OpAppend("stop:foreign", []byte("x")),
		kv.OpSet("stop:after", []byte("1")),
	}
	if err := s.Do(within(t, time.Second), ops); !errors.Is(err, kv.ErrUnavailable) {
		t.Fatalf("Do = %v, want ErrUnavailable", err)
	}
	mustDo(t, s, kv.OpGet("stop:before"))
	if r := do(t, s, kv.OpGet("stop:after")); !errors.Is(r.Err, kv.ErrNotFound) {
		t.Errorf("what came after the op that failed was carried out: %v", r.Err)
	}
	if !errors.Is(ops[2].Result.Err, kv.ErrUnavailable) || ops[0].Result.Err != nil {
		t.Errorf("results are %v and %v, want nil and ErrUnavailable", ops[0].Result.Err, ops[2].Result.Err)
	}
}
