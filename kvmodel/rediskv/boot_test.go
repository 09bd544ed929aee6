package rediskv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func lost(t *testing.T, s *Store, key string) {
	t.Helper()
	for _, op := range []kv.Op{kv.OpGet(key), kv.OpAdd(key, nil), kv.OpIncrement(key, 1)} {
		if r := do(t, s, op); !errors.Is(r.Err, kv.ErrLost) {
			t.Errorf("%v %s ended in %v, want ErrLost", op.Kind, key, r.Err)
		}
	}
}

func accept(t *testing.T, s *Store) (servers []string) {
	t.Helper()
	servers, err := s.Powers().Losses.Accept(within(t, time.Minute))
	must(t, err)
	return servers
}

func TestLoss_OfRedis_IsKnownBeforeTheFirstAnswerAndUntilAccepted(t *testing.T) {
	for name, lose := range map[string]func(p *servers.Process, s *Store){
		"flushed": func(p *servers.Process, s *Store) {
			raw(t, p.Addr, "FLUSHDB")
			s.doubt() // As after 15 seconds.
		},
		"restarted": func(p *servers.Process, _ *Store) {
			p.Kill()
			must(t, p.Start())
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := ownStore(t)
			mustDo(t, s, kv.OpSet("k", []byte("v")))
			lose(p, s)
			r := do(t, s, kv.OpGet("k"))
			for n := 0; n < 100 && !errors.Is(r.Err, kv.ErrLost) && kv.Failed(r.Err); n++ {
				r = do(t, s, kv.OpGet("k"))
			}
			if !errors.Is(r.Err, kv.ErrLost) || !strings.Contains(r.Err.Error(), p.Addr) {
				t.Fatalf("an empty server answered %v, want ErrLost with its address", r.Err)
			}
			later := openAt(t, p.Addr)
			if r := do(t, later, kv.OpGet("k")); !errors.Is(r.Err, kv.ErrNotFound) {
				t.Errorf("a newcomer, who cannot know: %v, want ErrNotFound", r.Err)
			}
			lost(t, s, "k")
			proof.NoDiff(t, cmp.Diff([]string{p.Addr}, accept(t, s)), "accepted servers")
			if r := do(t, s, kv.OpGet("k")); !errors.Is(r.Err, kv.ErrNotFound) {
				t.Errorf("after Accept: %v, want ErrNotFound", r.Err)
			}
			mustDo(t, s, kv.OpAdd("k", nil))
			mustDo(t, later, kv.OpGet("k"))
		})
	}
}

func TestLoss_RedisRestartedEmptyUnderLoad_NeverLooksEmpty(t *testing.T) {
	p, s := ownStore(t)
	mustDo(t, s, kv.OpSet("k", []byte("v")))
	mustDo(t, s, kv.OpSet("l", []byte("v")))
	ended := make(chan error)
	for i := range 8 {
		go func() {
			for {
				ops := []kv.Op{kv.OpGet("k"), kv.OpGet("l"), kv.OpAppend("k", nil)}[:1+i%3]
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				err := s.Do(ctx, ops)
				cancel()
				for _, op := range ops {
					if op.Result.Err != nil && !kv.Failed(op.Result.Err) {
						ended <- fmt.Errorf("%v %s was answered: %w", op.Kind, op.Key, op.Result.Err)
						return
					}
				}
				if errors.Is(err, kv.ErrLost) {
					ended <- nil
					return
				}
			}
		}()
	}
	time.Sleep(50 * time.Millisecond)
	p.Kill()
	proof.Is(t, p.Start(), nil)
	for range 8 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestLoss_RedisRestartedWithItsData_IsNone(t *testing.T) {
	p := keepingServer(t)
	s := openAt(t, p.Addr)
	mustDo(t, s, kv.OpSet("k", []byte("v")))
	kill(t, p, s)
	must(t, p.Start())
	mustDo(t, s, kv.OpGet("k"))
	mustDo(t, openAt(t, p.Addr), kv.OpGet("k"))
}

func TestLoss_RedisGoneBack_IsKnownToAllUntilAccepted(t *testing.T) {
	p := ownServer(t)
	s, other := openAt(t, p.Addr), openAt(t, p.Addr)
	mustDo(t, s, kv.OpSet("k", []byte("v")))
	mustDo(t, other, kv.OpGet("k"))
	must(t, s.Powers().Losses.GoneBack(within(t, time.Minute), "k"))
	other.doubt()
	later := openAt(t, p.Addr)
	for _, s := range []*Store{s, other, later} {
		lost(t, s, "k")
	}
	accept(t, later)
	s.doubt()
	other.doubt()
	for _, s := range []*Store{s, other, later} {
		mustDo(t, s, kv.OpGet("k"))
		if n, _ := s.memory.Load().Edition(); n != 2 {
			t.Errorf("edition %d, want the second", n)
		}
	}
}

func TestStore_WithoutABootItem_IsNotLost(t *testing.T) {
	p := ownServer(t)
	mustDo(t, openAt(t, p.Addr), kv.OpSet("k", []byte("v")))
	raw(t, p.Addr, "DEL", bootKey)
	s := openAt(t, p.Addr)
	wantValue(t, s, "k", "v")
}

func TestLooks_CostOneGetForEachConnectionAndSomeSeconds(t *testing.T) {
	p := ownServer(t)
	mustDo(t, openAt(t, p.Addr), kv.OpSet("k", nil))
	s := openAt(t, p.Addr)
	raw(t, p.Addr, "CONFIG", "RESETSTAT")
	for range 100 {
		mustDo(t, s, kv.OpGet("k"))
	}
	// One look finds that nothing is known yet, and a pass all there is to know.
	wantCalls(t, p, "get", 102)
	s.doubt()
	for range 100 {
		mustDo(t, s, kv.OpGet("k"))
	}
	wantCalls(t, p, "get", 203)
}

func wantCalls(t *testing.T, p *servers.Process, command string, want int) {
	t.Helper()
	stats := commands(t, p)
	if calls := fmt.Sprintf("cmdstat_%s:calls=%d,", command, want); !strings.Contains(stats, calls) {
		t.Errorf("want %s:\n%s", calls, stats)
	}
}

func commands(t *testing.T, p *servers.Process) string {
	t.Helper()
	stats, err := raw(t, p.Addr, "INFO", "commandstats").ToString()
	must(t, err)
	return stats
}

func TestClusterKeys_LieInEvery256thSlot(t *testing.T) {
	for i, key := range clusterKeys() {
		_, tag, _ := strings.Cut(key, "{")
		proof.Equal(t, slotOf(strings.TrimSuffix(tag, "}")), i*256, "%s is in slot", key)
	}
	// As the specification of Redis Cluster has it.
	proof.Equal(t, slotOf("123456789"), 0x31C3, "slot of 123456789")
}

func TestLoss_OfAClusterMaster_IsKnownToOneThatStartsLater(t *testing.T) {
	c := ownCluster(t)
	s := openAt(t, c.Addrs()...)
	// The first master has the slots from 0 to 5460, and the last one those from 10922.
	first, last := keyIn(0, 5000), keyIn(11300, 16000)
	mustDo(t, s, kv.OpSet(first, []byte("v")))
	mustDo(t, s, kv.OpSet(last, []byte("v")))
	raw(t, c.Node(0).Addr, "FLUSHALL")
	later := openAt(t, c.Addrs()...)
	lost(t, later, first)
	mustDo(t, later, kv.OpGet(last))
	s.doubt()
	lost(t, s, first)
	mustDo(t, s, kv.OpGet(last))
	proof.Equal(t, len(s.Powers().Losses.Lost()), 22, "of 64 items are lost")

	accept(t, later)
	s.doubt()
	for _, s := range []*Store{later, s, openAt(t, c.Addrs()...)} {
		if r := do(t, s, kv.OpGet(first)); !errors.Is(r.Err, kv.ErrNotFound) {
			t.Errorf("after Accept: %v, want ErrNotFound", r.Err)
		}
	}

	// A slot that moves takes its item along.
	id, err := raw(t, c.Node(1).Addr, "CLUSTER", "MYID").ToString()
	must(t, err)
	moveSlot(t, c, 0, id)
	mustDo(t, openAt(t, c.Addrs()...), kv.OpSet(first, nil))
}

func TestLoss_AnEmptyReplicaThatIsPromoted_NeverLooksEmpty(t *testing.T) {
	c := ownCluster(t)
	s := openAt(t, c.Addrs()...)
	// The first replica is that of the first master, which has these slots.
	key, elsewhere := keyIn(0, 5000), keyIn(11300, 16000)
	mustDo(t, s, kv.OpSet(key, []byte("v")))
	mustDo(t, s, kv.OpSet(elsewhere, []byte("v")))
	replica := c.Addrs()[3]
	raw(t, replica, "CONFIG", "SET", "replica-read-only", "no")
	raw(t, replica, "FLUSHALL")
	c.Kill(0)
	for ctx := within(t, time.Minute); ; {
		err := do(t, s, kv.OpGet(key)).Err
		if errors.Is(err, kv.ErrLost) {
			break
		}
		if err == nil || !kv.Failed(err) || ctx.Err() != nil {
			t.Fatalf("the promoted replica answered %v, want ErrLost", err)
		}
	}
	lost(t, s, key)
	lost(t, openAt(t, c.Addrs()...), key)
	mustDo(t, s, kv.OpGet(elsewhere))
}

func keyIn(first, last int) string {
	for n := 0; ; n++ {
		key := fmt.Sprint("k", n)
		if slot := slotOf(key); first <= slot && slot <= last {
			return key
		}
	}
}

func moveSlot(t *testing.T, c *servers.Cluster, slot int, id string) {
	t.Helper()
	from, to := c.Node(0).Addr, c.Node(1).Addr
	own, err := raw(t, from, "CLUSTER", "MYID").ToString()
	must(t, err)
	raw(t, to, "CLUSTER", "SETSLOT", fmt.Sprint(slot), "IMPORTING", own)
	raw(t, from, "CLUSTER", "SETSLOT", fmt.Sprint(slot), "MIGRATING", id)
	host, port, _ := strings.Cut(to, ":")
	raw(t, from, "MIGRATE", host, port, clusterKeys()[slot/256], "0", "5000")
	raw(t, to, "CLUSTER", "SETSLOT", fmt.Sprint(slot), "NODE", id)
	raw(t, from, "CLUSTER", "SETSLOT", fmt.Sprint(slot), "NODE", id)
}
