package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Redis starts a redis-server that keeps its data in memory only. args are command-line options.
func Redis(args ...string) (*Process, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	return startRedis(ports[0], args...)
}

// RedisTLS starts a redis-server that accepts only TLS, with these PEM files. A client must show a
// certificate of the authority ca, unless args say otherwise.
func RedisTLS(cert, key, ca string, args ...string) (*Process, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	secure := []string{"--port", "0", "--tls-port", ports[0], "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca}
	return startRedis(ports[0], append(secure, args...)...)
}

func startRedis(port string, args ...string) (*Process, error) {
	p, err := newRedis(port, args...)
	if err != nil {
		return nil, err
	}
	return started(p)
}

func newRedis(port string, args ...string) (*Process, error) {
	dir, err := os.MkdirTemp("", "ringtree-redis-")
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	return &Process{
		Addr:    net.JoinHostPort("127.0.0.1", port),
		program: "redis-server",
		args: append([]string{
			"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
		}, args...),
		dir: dir,
	}, nil
}

func started(p *Process) (*Process, error) {
	if err := p.Start(); err != nil {
		os.RemoveAll(p.dir)
		return nil, err
	}
	return p, nil
}

type Cluster struct {
	nodes []*Process
}

const (
	clusterMasters = 3
	clusterNodes   = 2 * clusterMasters
)

const slots = 16384

// RedisCluster starts a Redis Cluster and returns when all its nodes agree and every master has its
// replica. A dead master is replaced after two to four seconds.
func RedisCluster() (*Cluster, error) {
	ports, err := FreePorts(2 * clusterNodes)
	if err != nil {
		return nil, err
	}
	c := new(Cluster)
	for i := range clusterNodes {
		node, err := startNode(i, ports)
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.await(ready); err != nil {
		c.Stop()
		return nil, fmt.Errorf("join the Redis Cluster: %w", err)
	}
	return c, nil
}

// A node's file names the others as if they had met before.
func startNode(i int, ports []string) (*Process, error) {
	node, err := newRedis(ports[i],
		"--cluster-enabled", "yes", "--cluster-port", ports[clusterNodes+i],
		"--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(node.dir, "nodes.conf"), []byte(nodesOf(i, ports)), 0o600); err != nil {
		os.RemoveAll(node.dir)
		return nil, err
	}
	return started(node)
}

// The first three nodes share the slots, the others replicate them.
func nodesOf(self int, ports []string) string {
	id := func(i int) string { return fmt.Sprintf("%040x", i+1) }
	var file strings.Builder
	for i := range clusterNodes {
		line := fmt.Sprintf("%s 127.0.0.1:%s@%s ", id(i), ports[i], ports[clusterNodes+i])
		if i == self {
			line += "myself,"
		}
		if i < clusterMasters {
			line += fmt.Sprintf("master - 0 0 %d connected %d-%d", i+1, i*slots/clusterMasters, (i+1)*slots/clusterMasters-1)
		} else {
			line += fmt.Sprintf("slave %s 0 0 %d connected", id(i-clusterMasters), i+1-clusterMasters)
		}
		fmt.Fprintln(&file, line)
	}
	fmt.Fprintf(&file, "vars currentEpoch %d lastVoteEpoch 0\n", clusterMasters)
	return file.String()
}

// ready requires more than cluster_state:ok, which new nodes report while all six are still
// masters: the node must see three replicas, and be attached.
func ready(node *Process) (bool, error) {
	info, err := ask(node, "CLUSTER", "INFO")
	if err != nil {
		return false, err
	}
	nodes, err := ask(node, "CLUSTER", "NODES")
	if err != nil {
		return false, err
	}
	replication, err := ask(node, "INFO", "replication")
	if err != nil {
		return false, err
	}
	attached := strings.Contains(replication, "master_link_status:up") || strings.Contains(replication, "state=online")
	return strings.Contains(info, "cluster_state:ok") && attached &&
		strings.Count(nodes, "slave ") == clusterNodes-clusterMasters, nil
}

func (c *Cluster) await(as func(*Process) (bool, error)) error {
	end := time.Now().Add(2 * time.Minute)
	for _, node := range c.nodes {
		for {
			is, err := as(node)
			if err != nil {
				return err
			}
			if is {
				break
			}
			if time.Now().After(end) {
				return errors.New("the nodes did not agree within two minutes")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	return nil
}

// Addrs includes killed nodes.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

// Masters returns the numbers of the nodes that are masters now, in the order of Addrs.
func (c *Cluster) Masters() []int {
	var masters []int
	for i, node := range c.nodes {
		role, err := ask(node, "ROLE")
		if err == nil && strings.HasPrefix(role, "master") {
			masters = append(masters, i)
		}
	}
	return masters
}

func (c *Cluster) Node(i int) *Process { return c.nodes[i] }

// Kill ends a node like a crash. Node(i).Start brings it back.
func (c *Cluster) Kill(i int) { c.nodes[i].Kill() }

func (c *Cluster) Stop() {
	for _, node := range c.nodes {
		node.Stop()
	}
}

func ask(p *Process, command ...string) (string, error) {
	host, port, _ := net.SplitHostPort(p.Addr)
	args := slices.Concat([]string{"-h", host, "-p", port, "-e"}, command)
	out, err := exec.Command("redis-cli", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s to %s: %w: %s", strings.Join(command, " "), p.Addr, err, out)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

func order(p *Process, command ...string) error {
	answer, err := ask(p, command...)
	if err == nil && answer != "OK" {
		err = fmt.Errorf("%s to %s: %s", strings.Join(command, " "), p.Addr, answer)
	}
	return err
}
