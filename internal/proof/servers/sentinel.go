package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

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
