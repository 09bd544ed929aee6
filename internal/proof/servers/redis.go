package servers

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// Redis starts a redis-server that keeps its data in memory only. More args
// are options as on its command line, such as "--maxmemory", "10mb".
func Redis(args ...string) (*Process, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	return startRedis(ports[0], args...)
}

// RedisTLS starts a redis-server that speaks nothing but TLS, with these files in PEM. A
// client must show a certificate of the authority ca, unless more args say otherwise.
func RedisTLS(cert, key, ca string, args ...string) (*Process, error) {
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	secure := []string{"--port", "0", "--tls-port", ports[0], "--tls-cert-file", cert, "--tls-key-file", key, "--tls-ca-cert-file", ca}
	return startRedis(ports[0], append(secure, args...)...)
}

func startRedis(port string, args ...string) (*Process, error) {
	dir, err := os.MkdirTemp("", "ringtree-redis-")
	if err != nil {
		return nil, fmt.Errorf("start redis-server: %w", err)
	}
	p := &Process{
		Addr:    net.JoinHostPort("127.0.0.1", port),
		program: "redis-server",
		args: append([]string{
			"--port", port, "--bind", "127.0.0.1", "--dir", dir, "--save", "", "--appendonly", "no",
		}, args...),
		dir: dir,
	}
	if err := p.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return p, nil
}

// Cluster is a Redis Cluster of six nodes: three masters, three replicas.
type Cluster struct {
	nodes []*Process
}

const (
	clusterMasters = 3
	clusterNodes   = 2 * clusterMasters
)

// RedisCluster starts a Redis Cluster and returns when all its nodes agree
// and every master has its replica. A master that dies is replaced after two
// to four seconds.
func RedisCluster() (*Cluster, error) {
	ports, err := freePorts(2 * clusterNodes)
	if err != nil {
		return nil, err
	}
	c := new(Cluster)
	for i := range clusterNodes {
		node, err := startRedis(ports[i],
			"--cluster-enabled", "yes", "--cluster-port", ports[clusterNodes+i],
			"--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")
		if err != nil {
			c.Stop()
			return nil, err
		}
		c.nodes = append(c.nodes, node)
	}
	if err := c.join(ports[clusterNodes:]); err != nil {
		c.Stop()
		return nil, fmt.Errorf("join the Redis Cluster: %w", err)
	}
	return c, nil
}

// join makes one cluster of the nodes: each meets the first, the first three
// share the slots, the others replicate them.
func (c *Cluster) join(busPorts []string) error {
	for i, node := range c.nodes {
		if err := order(node, "CLUSTER", "SET-CONFIG-EPOCH", fmt.Sprint(i+1)); err != nil {
			return err
		}
		host, port, _ := net.SplitHostPort(node.Addr)
		if err := order(c.nodes[0], "CLUSTER", "MEET", host, port, busPorts[i]); err != nil {
			return err
		}
	}
	if err := c.await(met); err != nil {
		return err
	}
	for i, master := range c.nodes[:clusterMasters] {
		first, end := i*16384/clusterMasters, (i+1)*16384/clusterMasters
		if err := order(master, "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(first), fmt.Sprint(end-1)); err != nil {
			return err
		}
		id, err := ask(master, "CLUSTER", "MYID")
		if err != nil {
			return err
		}
		if err := order(c.nodes[clusterMasters+i], "CLUSTER", "REPLICATE", id); err != nil {
			return err
		}
	}
	return c.await(ready)
}

func met(node *Process) (bool, error) {
	info, err := ask(node, "CLUSTER", "INFO")
	return strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r\n", clusterNodes)), err
}

// ready requires more than cluster_state:ok, which new nodes report while all six
// are still masters: the node must see three replicas, and be attached.
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

// await waits until as returns true for all nodes.
func (c *Cluster) await(as func(*Process) (bool, error)) error {
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		all := true
		for _, node := range c.nodes {
			is, err := as(node)
			if err != nil {
				return err
			}
			all = all && is
		}
		if all {
			return nil
		}
	}
	return errors.New("the nodes did not agree within two minutes")
}

// Addrs returns the addresses of all nodes, including those that were killed.
func (c *Cluster) Addrs() []string {
	var addrs []string
	for _, node := range c.nodes {
		addrs = append(addrs, node.Addr)
	}
	return addrs
}

// Masters returns the numbers of the nodes that answer and are masters now, in the
// order of Addrs.
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

// Node returns the node with that number.
func (c *Cluster) Node(i int) *Process { return c.nodes[i] }

// Kill ends a node as a crash would. Node(i).Start brings it back.
func (c *Cluster) Kill(i int) { c.nodes[i].Kill() }

// Stop ends all nodes and removes their files.
func (c *Cluster) Stop() {
	for _, node := range c.nodes {
		node.Stop()
	}
}

// ask returns the server's answer to a command.
func ask(p *Process, command ...string) (string, error) {
	host, port, _ := net.SplitHostPort(p.Addr)
	args := slices.Concat([]string{"-h", host, "-p", port, "-e"}, command)
	out, err := exec.Command("redis-cli", args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s to %s: %w: %s", strings.Join(command, " "), p.Addr, err, out)
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}

// order sends the server a command that it must answer with OK.
func order(p *Process, command ...string) error {
	answer, err := ask(p, command...)
	if err == nil && answer != "OK" {
		err = fmt.Errorf("%s to %s: %s", strings.Join(command, " "), p.Addr, answer)
	}
	return err
}
