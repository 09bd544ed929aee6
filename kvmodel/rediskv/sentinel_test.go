package rediskv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func ownGroup(t testing.TB, args ...string) *servers.Group {
	servers.Need(t, "redis-server")
	g, err := servers.RedisGroup(args...)
	must(t, err)
	t.Cleanup(g.Stop)
	return g
}

func through(g *servers.Group) Options {
	return Options{Addrs: g.Addrs(), Sentinel: &Sentinel{Master: g.Name}}
}

func inTheEnd(t testing.TB, s kv.Store, op kv.Op) kv.Result {
	t.Helper()
	var r kv.Result
	eventually(t, fmt.Sprint(op.Kind, " ", op.Key, " succeeds"), func() bool {
		if r = do(t, s, op); r.Err != nil && !kv.Failed(r.Err) {
			t.Fatalf("%v %s: %v", op.Kind, op.Key, r.Err)
		}
		return r.Err == nil
	})
	return r
}

func TestSentinel_StoreFollowsTheMaster(t *testing.T) {
	g := ownGroup(t)
	log := new(said)
	opts := through(g)
	opts.Log = log.log()
	s := wantOpen(t, opts)
	if !s.Powers().Ordered {
		t.Error("behind sentinels is one server, so trips are ordered")
	}
	mustDo(t, s, kv.OpSet("k", []byte("1")))
	must(t, g.Failover())
	eventually(t, "another server is seen to be the master", func() bool {
		_ = do(t, s, kv.OpGet("k"))
		return strings.Contains(log.String(), "the master has changed")
	})
	if r := inTheEnd(t, s, kv.OpGet("k")); string(r.Value) != "1" {
		t.Errorf("after the failover: want 1, got %q", r.Value)
	}
	inTheEnd(t, s, kv.OpSet("k", []byte("2")))
	if text, _ := raw(t, g.Replica.Addr, "GET", "k").ToString(); !strings.HasSuffix(text, "2") {
		t.Errorf("the new master has %q, want 2", text)
	}
	wantText(t, log.String(), "level=WARN", "of="+g.Name, "was="+g.Master.Addr, "is="+g.Replica.Addr)
}

// No read reports an absence on the way, either.
func TestSentinel_DurableStoreLosesNothingWhenTheMasterDies(t *testing.T) {
	g := ownGroup(t, keeps...)
	opts := through(g)
	opts.Durable = true
	s := wantOpen(t, opts)
	proof.Equal(t, s.opts.WaitReplicas, 1, "it waits for")
	stored := 0
	for ; stored < 50; stored++ {
		mustDo(t, s, kv.OpSet(fmt.Sprint("k", stored), []byte("v")))
	}
	g.Master.Kill()
	for i := range stored {
		if r := inTheEnd(t, s, kv.OpGet(fmt.Sprint("k", i))); string(r.Value) != "v" {
			t.Errorf("k%d: want v, got %q", i, r.Value)
		}
	}
	// No replica is left to confirm it.
	wantErr(t, do(t, s, kv.OpSet("k", nil)).Err, kv.ErrUnclear, errUnconfirmed)
}

func TestSentinel_EmptyServerThatTakesOverIsALoss(t *testing.T) {
	a, b := ownServer(t), ownServer(t)
	of := newFakeSentinels(t, 3)
	of.say(1, a.Addr, 0, 1, 2)
	s := wantOpen(t, Options{Addrs: of.addrs, Sentinel: &Sentinel{Master: "main"}})
	mustDo(t, s, kv.OpSet("k", []byte("v")))
	askOften(t)
	of.say(2, b.Addr, 0, 1, 2)
	go s.sentinels.watch(s.senders.quit)
	// The old master is still reachable, and would go on answering.
	eventually(t, "the loss is noticed", func() bool {
		r := do(t, s, kv.OpGet("k"))
		lost := errors.Is(r.Err, kv.ErrLost)
		if !lost && r.Err != nil && !errors.Is(r.Err, kv.ErrUnavailable) || r.Err == nil && string(r.Value) != "v" {
			t.Fatalf("want v until the loss is known, got %q, %v", r.Value, r.Err)
		}
		return lost
	})
}

func TestSentinel_ReplicaIsNotTakenForAMaster(t *testing.T) {
	master := ownServer(t, "--repl-diskless-sync-delay", "0")
	replica := replicaOf(t, master)
	of := newFakeSentinels(t, 1)
	of.say(1, replica.Addr, 0)
	wantOpen(t, Options{Addrs: of.addrs, Sentinel: &Sentinel{Master: "main"}}, `sentinel names `+replica.Addr+` as the master of "main": it is a replica`)
}

func TestSentinel_MostMustAnswerAndTheLatestCounts(t *testing.T) {
	old, now := ownServer(t), ownServer(t)
	of := newFakeSentinels(t, 3)
	opts := Options{Addrs: of.addrs, Sentinel: &Sentinel{Master: "main"}, Patience: 30 * time.Second}
	of.say(1, old.Addr, 0)
	wantOpen(t, opts, `1 of 3 sentinels name the master of "main", and a majority must`, "ERR No such master")
	of.say(2, now.Addr, 1)
	s := wantOpen(t, opts)
	proof.Equal(t, s.sentinels.master, now.Addr, "the master")
}

func TestSentinel_UsersOfBothKindsLogIn(t *testing.T) {
	p := ownServer(t, "--requirepass", "secret-of-servers")
	of := newFakeSentinels(t, 1)
	of.demand("secret-of-sentinels")
	of.say(1, p.Addr, 0)
	url := "redis-sentinel://:secret-of-servers@" + of.addrs[0] + "/main/2?sentinel-password="
	wantURL(t, url+"secret-of-sentinels")
	wantNoURL(t, url+"secret-of-no-one", "WRONGPASS")
	wantNoURL(t, strings.Replace(url, "servers@", "no-one@", 1)+"secret-of-sentinels", "WRONGPASS")
	talk := talkTo(t, p.Addr, "secret-of-servers")
	proof.Done(t)(talk.ask(t.Context(), "SELECT", "2"))
	if n, err := talk.ask(t.Context(), "DBSIZE"); n != any(int64(2)) || err != nil {
		t.Errorf("want a key and the boot item in database 2, got %v, %v", n, err)
	}
}

func askOften(t *testing.T) {
	before := askEvery
	askEvery = 20 * time.Millisecond
	t.Cleanup(func() { askEvery = before })
}

type fakeSentinels struct {
	addrs []string

	mu       sync.Mutex
	password string
	master   []string // by sentinel; "": it knows none
	epoch    []int
}

func newFakeSentinels(t testing.TB, n int) *fakeSentinels {
	f := &fakeSentinels{master: make([]string, n), epoch: make([]int, n)}
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		t.Cleanup(func() { l.Close() })
		f.addrs = append(f.addrs, l.Addr().String())
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go f.serve(i, conn)
			}
		}()
	}
	return f
}

func (f *fakeSentinels) say(epoch int, master string, which ...int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range which {
		f.master[i], f.epoch[i] = master, epoch
	}
}

func (f *fakeSentinels) demand(password string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.password = password
}

func (f *fakeSentinels) wants(password string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return password == f.password
}

func (f *fakeSentinels) serve(i int, conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	known := f.wants("")
	for {
		command, err := readCommand(in)
		if err != nil {
			return
		}
		switch {
		case command[0] == "AUTH":
			if known = f.wants(command[len(command)-1]); !known {
				fmt.Fprint(conn, "-WRONGPASS invalid username-password pair or user is disabled.\r\n")
				continue
			}
			fmt.Fprint(conn, "+OK\r\n")
		case !known:
			fmt.Fprint(conn, "-NOAUTH Authentication required.\r\n")
		case len(command) == 3 && command[1] == "MASTER":
			f.nameMaster(i, conn)
		default:
			fmt.Fprint(conn, "*0\r\n")
		}
	}
}

func (f *fakeSentinels) nameMaster(i int, out io.Writer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.master[i] == "" {
		fmt.Fprint(out, "-ERR No such master with that name\r\n")
		return
	}
	host, port, _ := net.SplitHostPort(f.master[i])
	fields := []string{"name", "main", "ip", host, "port", port, "config-epoch", fmt.Sprint(f.epoch[i])}
	fmt.Fprintf(out, "*%d\r\n", len(fields))
	for _, field := range fields {
		fmt.Fprintf(out, "$%d\r\n%s\r\n", len(field), field)
	}
}

func readCommand(in *bufio.Reader) (command []string, err error) {
	list, err := (&talk{in: in}).read()
	if err != nil {
		return nil, err
	}
	for _, part := range list.([]any) {
		command = append(command, part.(string))
	}
	return command, nil
}
