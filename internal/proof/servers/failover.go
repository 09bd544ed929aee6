package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Outage is a failover as callers saw it.
type Outage struct {
	Back        time.Duration // until all slots accepted a write again
	Calls       int           // calls begun until then
	Unavailable int
	Unclear     int
	Other       int
	Late        int // calls that ended more than a second past their deadline
	Latest      time.Duration
}

const callTime = time.Second

// KillMaster ends the first master with kill -9 while 16 clients of store work on keys of all
// slots. It fails if the cluster does not accept writes again within limit.
func (c *Cluster) KillMaster(store kv.Store, limit time.Duration) (Outage, error) {
	l := &load{store: store}
	_, back, err := c.killMaster(func(client, n int) { l.call(fmt.Sprintf("load:%d:%d", client, n%100)) }, store, limit, 0)
	l.outage.Back = back
	return l.outage, err
}

// killMaster ends the first master while 16 clients call f. It returns when the cluster has
// accepted writes of store again, and another rest has passed.
func (c *Cluster) killMaster(f func(client, n int), store kv.Store, limit, rest time.Duration) (master *Process, back time.Duration, err error) {
	masters := c.Masters()
	if len(masters) == 0 {
		return nil, 0, errors.New("the Redis Cluster has no master")
	}
	master = c.nodes[masters[0]]
	end := busy(f)
	time.Sleep(callTime / 2)
	killed := time.Now()
	master.Kill()
	err = awaitWrites(store, limit)
	back = time.Since(killed)
	time.Sleep(rest)
	end()
	return master, back, err
}

func awaitWrites(store kv.Store, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	var err error
	for ctx.Err() == nil {
		var ops []kv.Op
		for i := range 64 {
			ops = append(ops, kv.OpSet(fmt.Sprintf("failover:%d", i), nil))
		}
		try, done := context.WithTimeout(ctx, callTime)
		err = store.Do(try, ops)
		done()
		if err == nil {
			return nil
		}
	}
	return fmt.Errorf("no service within %v after a master died: %w", limit, err)
}

func busy(f func(client, n int)) (end func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for client := range 16 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
					f(client, n)
				}
			}
		})
	}
	return func() { close(stop); wg.Wait() }
}

type load struct {
	store kv.Store

	mu     sync.Mutex
	outage Outage
}

func (l *load) call(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	deadline, _ := ctx.Deadline()
	err := l.store.Do(ctx, []kv.Op{kv.OpSet(key, nil), kv.OpGet(key)})
	late := time.Since(deadline)

	l.mu.Lock()
	defer l.mu.Unlock()
	l.outage.Calls++
	l.outage.Latest = max(l.outage.Latest, late)
	if late > time.Second {
		l.outage.Late++
	}
	switch {
	case err == nil:
	case errors.Is(err, kv.ErrUnavailable):
		l.outage.Unavailable++
	case errors.Is(err, kv.ErrUnclear):
		l.outage.Unclear++
	default:
		l.outage.Other++
	}
}

// Failover is the fate of the writes in progress when a master died.
type Failover struct {
	Back    time.Duration // until all slots accepted a write again
	Stored  int
	Unclear int // unacknowledged writes that may have been carried out
	Said    int // acknowledged writes with keys that are ErrLost
	Lost    int // acknowledged writes that are gone
}

// LoseMaster ends the first master with kill -9 while 16 clients of store write, each under its own
// keys beginning with name. It returns when the cluster has accepted writes of plain, a store that
// waits for no replica, for another half second, and the killed node has come back as a replica.
func (c *Cluster) LoseMaster(store, plain kv.Store, name string, limit time.Duration) (Failover, error) {
	w := &writes{store: store}
	master, back, err := c.killMaster(func(client, n int) { w.write(fmt.Sprintf("%s:%d:%d", name, client, n)) }, plain, limit, callTime/2)
	w.found.Back = back
	if err == nil {
		err = master.Start()
	}
	if err == nil {
		err = c.await(ready)
	}
	if err == nil {
		err = w.look()
	}
	return w.found, err
}

type writes struct {
	store kv.Store

	mu    sync.Mutex
	keys  []string
	found Failover
}

func (w *writes) write(key string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	_, err := kv.One(ctx, w.store, kv.OpSet(key, []byte(key)))
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		w.keys = append(w.keys, key)
		w.found.Stored++
	case errors.Is(err, kv.ErrUnclear):
		w.found.Unclear++
	}
}

func (w *writes) look() error {
	const atOnce = 500
	for keys := range slices.Chunk(w.keys, atOnce) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		got, err := kv.GetAll(ctx, w.store, keys...)
		cancel()
		if err != nil && !errors.Is(err, kv.ErrLost) {
			return fmt.Errorf("look for what was acknowledged: %w", err)
		}
		var drops []kv.Op
		for i, r := range got {
			switch {
			case errors.Is(r.Err, kv.ErrLost):
				w.found.Said++
			case r.Err != nil || string(r.Value) != keys[i]:
				w.found.Lost++
			}
			drops = append(drops, kv.OpDelete(keys[i]))
		}
		_ = w.store.Do(context.Background(), drops)
	}
	return nil
}

// Group is a Redis master with a replica, and three sentinels that promote the replica when most of
// them have not reached the master for a second.
type Group struct {
	Name      string
	Master    *Process
	Replica   *Process
	Sentinels []*Process
}

// RedisGroup starts a group and returns when all know each other. args are options of the master
// and the replica.
func RedisGroup(args ...string) (*Group, error) {
	ports, err := FreePorts(5)
	if err != nil {
		return nil, err
	}
	g := &Group{Name: "main"}
	if err = g.start(ports, args); err != nil {
		g.Stop()
		return nil, fmt.Errorf("start a group of Redis servers: %w", err)
	}
	return g, nil
}

func (g *Group) start(ports, args []string) (err error) {
	options := append([]string{"--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, args...)
	if g.Master, err = startRedis(ports[0], options...); err != nil {
		return err
	}
	if g.Replica, err = startRedis(ports[1], append(options, "--replicaof", "127.0.0.1 "+ports[0])...); err != nil {
		return err
	}
	for _, port := range ports[2:] {
		sentinel, err := startSentinel(port, g.Name, ports[0])
		if err != nil {
			return err
		}
		g.Sentinels = append(g.Sentinels, sentinel)
	}
	return g.await()
}

func startSentinel(port, name, master string) (*Process, error) {
	dir, err := os.MkdirTemp("", "ringtree-sentinel-")
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "sentinel.conf")
	config := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor %s 127.0.0.1 %s 2\n"+
		"sentinel down-after-milliseconds %s 1000\nsentinel failover-timeout %s 5000\n", port, dir, name, master, name, name)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	return started(&Process{Addr: net.JoinHostPort("127.0.0.1", port), program: "redis-server", args: []string{file, "--sentinel"}, dir: dir})
}

func (g *Group) await() error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		all := true
		for _, s := range g.Sentinels {
			master, err := ask(s, "SENTINEL", "MASTER", g.Name)
			if err != nil {
				return err
			}
			all = all && strings.Contains(master, "\nnum-slaves\n1\n") && strings.Contains(master, "\nnum-other-sentinels\n2\n") &&
				strings.Contains(master, "\nflags\nmaster\n")
		}
		if all {
			return nil
		}
	}
	return errors.New("the sentinels did not agree within two minutes")
}

func (g *Group) Addrs() (addrs []string) {
	for _, s := range g.Sentinels {
		addrs = append(addrs, s.Addr)
	}
	return addrs
}

// Failover asks a sentinel to promote the replica, which a busy one may refuse for a while.
func (g *Group) Failover() (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		err = order(g.Sentinels[0], "SENTINEL", "FAILOVER", g.Name)
		if err == nil || !strings.Contains(err.Error(), "NOGOODSLAVE") {
			break
		}
	}
	return err
}

func (g *Group) Stop() {
	for _, p := range append(g.Sentinels, g.Replica, g.Master) {
		if p != nil {
			p.Stop()
		}
	}
}
