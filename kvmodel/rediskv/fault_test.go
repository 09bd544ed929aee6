package rediskv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// soon is how late a call may end on a busy machine. The faults guarded against take five seconds
// or more.
const soon = 4 * time.Second

// ends wants work to end after about limit.
func ends(t testing.TB, limit time.Duration, work func()) {
	t.Helper()
	start := time.Now()
	work()
	if took := time.Since(start); took > limit+soon {
		t.Errorf("it took %v, want about %v", took, limit)
	}
}

func freeze(t testing.TB, p *servers.Process) {
	t.Helper()
	must(t, syscall.Kill(p.Pid(), syscall.SIGSTOP))
}

func thaw(t testing.TB, p *servers.Process) {
	t.Helper()
	must(t, syscall.Kill(p.Pid(), syscall.SIGCONT))
}

// kill ends the server and lets s notice its broken connections, so that a write is certainly not
// sent.
func kill(t testing.TB, p *servers.Process, s *Store) {
	t.Helper()
	p.Kill()
	for range 1000 {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		_, err := kv.One(ctx, s, kv.OpGet("k"))
		cancel()
		if err != nil && strings.Contains(err.Error(), "refused") {
			return
		}
	}
	t.Fatal("no connection is refused")
}

func back(t testing.TB, s *Store) {
	t.Helper()
	eventually(t, "a server that answers is asked", func() bool { return !kv.Failed(do(t, s, kv.OpGet("k")).Err) })
}

func wantErr(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		proof.Is(t, err, w)
	}
}

func TestOpen_AServerThatNeverAnswersEndsWithTheContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	ends(t, 200*time.Millisecond, func() {
		_, err = Open(within(t, 200*time.Millisecond), Options{Addrs: []string{l.Addr().String()}})
	})
	wantErr(t, err, kv.ErrUnavailable, context.DeadlineExceeded)
}

func TestOpen_AServerThatIsNotRedisIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
			conn.Close()
		}
	}()
	_, err = Open(within(t, time.Minute), Options{Addrs: []string{l.Addr().String()}})
	wantErr(t, err, kv.ErrUnavailable)
	if err != nil && !strings.Contains(err.Error(), "it is not a Redis server") {
		t.Errorf("the error does not say so: %v", err)
	}
}

func TestDo_AServerThatIsDownIsUnavailableInTime(t *testing.T) {
	p := ownServer(t)
	const limit = 300 * time.Millisecond
	patient, limited := open(t, Options{Addrs: []string{p.Addr}, Patience: limit}), openAt(t, p.Addr)
	kill(t, p, patient)
	kill(t, p, limited)
	for _, op := range []kv.Op{kv.OpGet("k"), kv.OpSet("k", nil), kv.OpIncrement("k", 1)} {
		ends(t, 2*limit, func() {
			_, err := kv.One(context.Background(), patient, op)
			_, ended := kv.One(within(t, limit), limited, op)
			wantErr(t, ended, kv.ErrUnavailable)
			if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), p.Addr) {
				t.Errorf("%v = %v, want ErrUnavailable with the address", op.Kind, err)
			}
		})
	}
}

func TestDo_WhereNothingListensCallsFailAtOnceAndWorkAfterARestart(t *testing.T) {
	p := keepingServer(t)
	s := openAt(t, p.Addr)
	mustDo(t, s, kv.OpSet("k", []byte("1")))
	mustDo(t, s, kv.OpIncrement("k", 1))
	kill(t, p, s)
	ends(t, 0, func() {
		for range 100 {
			wantErr(t, do(t, s, kv.OpIncrement("k", 1)).Err, kv.ErrUnavailable)
			wantErr(t, do(t, s, kv.OpGet("k")).Err, kv.ErrUnavailable)
		}
	})
	must(t, p.Start())
	back(t, s)
	mustDo(t, s, kv.OpSet("k", []byte("7")))
	wantNumber(t, s, kv.OpIncrement("k", 1), 8)
}

func TestDo_RidesOutAServerThatIsReadOnlyForAWhile(t *testing.T) {
	for name, test := range map[string]struct {
		ops  []kv.Op
		want string
	}{
		"script": {[]kv.Op{kv.OpSet("k", []byte("1")), kv.OpAppend("k", nil), kv.OpIncrement("k", 1)}, "2"},
		"block":  {[]kv.Op{kv.OpSet("k", []byte("1")), kv.OpDelete("l"), kv.OpAdd("m", nil)}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := ownStore(t)
			raw(t, p.Addr, "REPLICAOF", "127.0.0.1", "1")
			time.AfterFunc(200*time.Millisecond, func() { order(t, p.Addr, "REPLICAOF", "NO", "ONE") })
			must(t, s.Do(within(t, time.Minute), test.ops))
			wantValue(t, s, "k", test.want)
		})
	}
}

func TestDo_RidesOutAServerThatIsBusyWithAScript(t *testing.T) {
	p := ownServer(t, "--lua-time-limit", "20")
	s := openAt(t, p.Addr)
	mustDo(t, s, kv.OpSet("k", []byte("1")))
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{p.Addr}, DisableCache: true})
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		// It ends with an error when the script is killed.
		c.Do(context.Background(), c.B().Eval().Script("while true do end").Numkeys(0).Build())
	}()
	time.Sleep(200 * time.Millisecond)
	time.AfterFunc(200*time.Millisecond, func() { order(t, p.Addr, "SCRIPT", "KILL") })
	wantNumber(t, s, kv.OpIncrement("k", 1), 2)
	<-killed
}

func TestDo_ARestartUnderLoadEndsEveryCallAndTheServiceIsBack(t *testing.T) {
	p := keepingServer(t)
	s := openAt(t, p.Addr)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for i := range 8 {
		key := fmt.Sprintf("load:%d", i)
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				start := time.Now()
				_, err := kv.Next(ctx, s, key, 1, 1)
				if err != nil && !kv.Failed(err) {
					t.Errorf("a call under load ended in %v", err)
				}
				if took := time.Since(start); took > time.Second+soon {
					t.Errorf("a call of one second took %v", took)
				}
				cancel()
			}
		})
	}
	for range 3 {
		time.Sleep(100 * time.Millisecond)
		p.Kill()
		time.Sleep(200 * time.Millisecond)
		proof.Is(t, p.Start(), nil)
	}
	close(stop)
	wg.Wait()
	back(t, s)
	mustDo(t, s, kv.OpSet("k", nil))
}

func TestDo_ACancelEndsTheWaitForAServerThatRefusesForAWhile(t *testing.T) {
	p, s := ownStore(t)
	raw(t, p.Addr, "REPLICAOF", "127.0.0.1", "1")
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	ends(t, 200*time.Millisecond, func() {
		_, err := kv.One(ctx, s, kv.OpSet("k", nil))
		wantErr(t, err, kv.ErrUnavailable, context.Canceled)
	})
}

func TestDo_AWriteThatWasSentAndNotAnsweredIsUnclear(t *testing.T) {
	p, s := ownStore(t)
	mustDo(t, s, kv.OpSet("k", nil))
	freeze(t, p)
	// By then the write has been sent.
	const sent = time.Second / 2
	time.AfterFunc(sent, p.Kill)
	ends(t, sent, func() {
		ops := []kv.Op{kv.OpSet("k", nil), kv.OpGet("k")}
		wantErr(t, s.Do(within(t, time.Minute), ops), kv.ErrUnclear)
		wantErr(t, ops[1].Result.Err, kv.ErrUnavailable)
	})
}

func TestDo_ASlowServerEndsCallsAtTheirDeadlineOrCancel(t *testing.T) {
	p, s := ownStore(t)
	mustDo(t, s, kv.OpSet("k", nil))
	freeze(t, p)
	const limit = time.Second / 2
	for want, limited := range map[error]func(context.Context) (context.Context, context.CancelFunc){
		context.DeadlineExceeded: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, limit)
		},
		context.Canceled: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(limit, cancel)
			return ctx, cancel
		},
	} {
		ctx, cancel := limited(context.Background())
		defer cancel()
		ends(t, limit, func() {
			ops := []kv.Op{kv.OpIncrement("k", 1), kv.OpGet("k")}
			wantErr(t, s.Do(ctx, ops), kv.ErrUnclear, want)
			wantErr(t, ops[1].Result.Err, kv.ErrUnavailable, want)
		})
	}
	thaw(t, p)
	back(t, s)
	mustDo(t, s, kv.OpGet("k"))
}

func TestDo_WithoutADeadlineASilentServerEndsCallsAfterPatience(t *testing.T) {
	for _, opts := range []Options{{Patience: time.Second}, {Patience: time.Second, WaitReplicas: 1, WaitTimeout: 100 * time.Millisecond}} {
		p := ownServer(t)
		opts.Addrs = []string{p.Addr}
		s := open(t, opts)
		do(t, s, kv.OpSet("k", nil))
		freeze(t, p)
		ends(t, time.Minute, func() {
			proof.Ends(t, kv.ErrUnclear)(kv.One(context.Background(), s, kv.OpSet("k", nil)))
			proof.Ends(t, kv.ErrUnavailable)(kv.One(context.Background(), s, kv.OpGet("k")))
		})
		thaw(t, p)
	}
}

func TestDo_AFullServerRefusesAndKeepsWhatItHas(t *testing.T) {
	p := ownServer(t, "--maxmemory", "6mb", "--maxmemory-policy", "noeviction")
	s := openAt(t, p.Addr)
	big := bytes.Repeat([]byte("x"), 100<<10)
	mustDo(t, s, kv.OpSet("number", []byte("5")))
	mustDo(t, s, kv.OpSet("old", []byte("old")))
	old := mustDo(t, s, kv.OpGet("old"))
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		_, err = kv.One(within(t, time.Minute), s, kv.OpSet(fmt.Sprintf("fill:%d", i), big))
	}
	wantErr(t, err, kv.ErrUnavailable)
	// A little more, so that there is no room for small writes either.
	raw(t, p.Addr, "CONFIG", "SET", "maxmemory", "1mb")
	for _, op := range []kv.Op{
		kv.OpSet("old", big), kv.OpAdd("new", nil), kv.OpSwap("old", old.Version, big),
		kv.OpAppend("old", big), kv.OpIncrement("number", 1),
	} {
		ends(t, 0, func() {
			if r := do(t, s, op); !errors.Is(r.Err, kv.ErrUnavailable) || !strings.Contains(r.Err.Error(), "OOM") {
				t.Errorf("%v = %v, want ErrUnavailable that says OOM", op.Kind, r.Err)
			}
		})
	}
	ops := []kv.Op{kv.OpAppend("old", []byte("line")), kv.OpDelete("number")}
	wantErr(t, s.Do(within(t, time.Minute), ops), kv.ErrUnavailable)
	if r := mustDo(t, s, kv.OpGet("old")); string(r.Value) != "old" || r.Version != old.Version {
		t.Errorf("the old item is now %.20q with another version", r.Value)
	}
	wantValue(t, s, "number", "5")
	mustDo(t, s, kv.OpDelete("fill:0"))
}

func TestClose_LeavesNoGoroutine(t *testing.T) {
	addr, addrs := serverAddr(t), clusterAddrs(t)
	before := runtime.NumGoroutine()
	for _, opts := range []Options{{Addrs: []string{addr}}, {Addrs: addrs}} {
		s, err := Open(within(t, time.Minute), opts)
		must(t, err)
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() { mustDo(t, s, kv.OpSet(fmt.Sprintf("leak:%d", i), nil)) })
		}
		wg.Wait()
		s.Close()
	}
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}

func TestWaitReplicas_WithoutAReplicaAWriteIsUnclear(t *testing.T) {
	s := open(t, Options{Addrs: []string{serverAddr(t)}, WaitReplicas: 1, WaitTimeout: 50 * time.Millisecond})
	wantErr(t, do(t, s, kv.OpSet("wait", []byte("1"))).Err, kv.ErrUnclear)
	wantErr(t, do(t, s, kv.OpIncrement("wait", 1)).Err, kv.ErrUnclear)
	wantValue(t, s, "wait", "2")
}

func TestWaitReplicas_InAClusterAReplicaConfirms(t *testing.T) {
	s := open(t, Options{Addrs: clusterAddrs(t), WaitReplicas: 1, WaitTimeout: 10 * time.Second})
	var ops []kv.Op
	for i := range 20 {
		key := fmt.Sprintf("confirmed:%d", i)
		ops = append(ops, kv.OpSet(key, []byte("1")), kv.OpGet("nothing"))
		mustDo(t, s, kv.OpSet(key, []byte("1")))
		wantNumber(t, s, kv.OpIncrement(key, 1), 2)
	}
	proof.Is(t, s.Do(within(t, time.Minute), ops), nil)
	two := open(t, Options{Addrs: clusterAddrs(t), WaitReplicas: 2, WaitTimeout: 50 * time.Millisecond})
	wantErr(t, do(t, two, kv.OpSet("confirmed:0", nil)).Err, kv.ErrUnclear)
}

func TestCluster_AMasterKilledUnderLoadIsReplaced(t *testing.T) {
	c := ownCluster(t)
	outage, err := c.KillMaster(openAt(t, c.Addrs()...), 2*time.Minute)
	t.Logf("%+v", outage)
	proof.Is(t, err, nil)
	if outage.Latest > soon {
		t.Errorf("a call ended %v after its deadline", outage.Latest)
	}
	if outage.Other > 0 || outage.Calls == 0 {
		t.Errorf("%d of %d calls ended in an error that is not allowed", outage.Other, outage.Calls)
	}
}

// Redis promises none of the last writes after a failover.
func TestLong_FailoversEndInServiceAndTellWhatTheyHaveTaken(t *testing.T) {
	if !proof.Long() {
		return // A cluster and its failover take seconds.
	}
	c := ownCluster(t)
	plain := openAt(t, c.Addrs()...)
	for _, replicas := range []int{0, 1} {
		s := open(t, Options{Addrs: c.Addrs(), WaitReplicas: replicas, WaitTimeout: 200 * time.Millisecond})
		var all servers.Failover
		kills := 0
		for n := range proof.Rounds(t, 0, 50) {
			f, err := c.LoseMaster(s, plain, fmt.Sprint("f", replicas, "-", n), 2*time.Minute)
			if err != nil {
				t.Fatalf("kill %d: %v", kills+1, err)
			}
			kills++
			all.Back = max(all.Back, f.Back)
			all.Stored, all.Unclear, all.Said, all.Lost = all.Stored+f.Stored, all.Unclear+f.Unclear, all.Said+f.Said, all.Lost+f.Lost
		}
		t.Logf("wait-replicas=%d: %d masters killed, of %d writes acknowledged %d gone and %d ErrLost, %d ErrUnclear; all slots took writes after %v at most",
			replicas, kills, all.Stored, all.Lost, all.Said, all.Unclear, all.Back)
		if all.Stored == 0 {
			t.Error("no write was acknowledged")
		}
	}
}

func TestCluster_AFrozenMasterEndsCallsInTime(t *testing.T) {
	c := ownCluster(t)
	s := openAt(t, c.Addrs()...)
	frozen := c.Node(c.Masters()[0])
	freeze(t, frozen)
	defer thaw(t, frozen)
	for end, n := time.Now().Add(3*time.Second), 0; time.Now().Before(end); n++ {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		ends(t, 200*time.Millisecond, func() { kv.One(ctx, s, kv.OpSet(fmt.Sprintf("frozen:%d", n%50), nil)) })
		cancel()
	}
}

func TestStore_AWriteIsUnclearAloneThoughALookAtTheServerHasFailed(t *testing.T) {
	s := &Store{where: "here"}
	look := s.failed(kv.ErrUnavailable, context.DeadlineExceeded)
	op := kv.OpIncrement("k", 1)
	s.lose([]*kv.Op{&op}, look)
	if err := op.Result.Err; !errors.Is(err, kv.ErrUnclear) || errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the write ended in %v, want ErrUnclear alone, which wraps context.DeadlineExceeded", err)
	}
}

func TestStore_SaysOnceThatItCannotBeAsked(t *testing.T) {
	s := &Store{where: "here"}
	op := kv.OpGet("k")
	s.refuse([]*kv.Op{&op}, s.failed(kv.ErrUnavailable, errors.New("connection refused")), true)
	if want, got := "redis here: store unavailable: connection refused", op.Result.Err.Error(); got != want {
		t.Errorf("want %q, got %q", want, got)
	}
}

func TestDo_ThousandsOfCallsToAFrozenServerEndInTimeAndFewSendersStay(t *testing.T) {
	p, s := ownStore(t)
	mustDo(t, s, kv.OpSet("k", nil))
	const others = 10 // the client starts some of its own
	before := runtime.NumGoroutine()
	freeze(t, p)
	ends(t, time.Minute, func() { // In sequence they would take a thousand seconds.
		var wg sync.WaitGroup
		for range 2000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				defer cancel()
				if _, err := kv.One(ctx, s, kv.OpSet("k", nil)); !kv.Failed(err) {
					t.Errorf("a frozen server answered: %v", err)
				}
			})
		}
		wg.Wait()
	})
	thaw(t, p)
	back(t, s)
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+maxIdle+others; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before: at most %d more may stay", runtime.NumGoroutine(), before, maxIdle+others)
		}
	}
	mustDo(t, s, kv.OpSet("k", []byte("1")))
	wantValue(t, s, "k", "1")
}

func TestDo_OnAConnectionThatIsThere_TakesNoGoroutineOfItsOwn(t *testing.T) {
	p, s := ownStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		proof.Done(t)(kv.One(ctx, s, kv.OpSet("k", nil)))
	}
	freeze(t, p)
	const callers = 100
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			proof.Ends(t, context.Canceled)(kv.One(ctx, s, kv.OpGet("k")))
		})
	}
	time.Sleep(100 * time.Millisecond)
	if n := runtime.NumGoroutine() - before; n > callers+10 {
		t.Errorf("%d callers take %d goroutines", callers, n)
	}
	cancel()
	wg.Wait()
	thaw(t, p)
	mustDo(t, s, kv.OpGet("k"))
}

func TestStore_Get_AllocatesAtMostFourTimesMoreThanTheRawClient(t *testing.T) {
	s := openAt(t, serverAddr(t))
	mustDo(t, s, kv.OpSet("alloc", make([]byte, 1024)))
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	raw := proof.Allocs(500, func() {
		cmd := s.client.B().Get().Key("alloc").Build()
		proof.Is(t, s.client.Do(cancellable, cmd).Error(), nil)
	})
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancellable": cancellable} {
		got := proof.Allocs(500, func() {
			proof.Ends(t, nil)(kv.One(ctx, s, kv.OpGet("alloc")))
		})
		t.Logf("%s context: %v allocations per get, the raw client has %v", name, got, raw)
		if got > raw+4 {
			t.Errorf("%s context: %v allocations per get, the raw client has %v", name, got, raw)
		}
	}
}
