// Package servers starts real servers for tests and benchmarks, on free ports of the loopback
// address.
//
// A test that needs one calls [Need] first.
package servers

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Need skips the test unless program is installed. With RINGTREE_SERVERS=required in the
// environment, as `make test` sets it, the test fails.
func Need(t testing.TB, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("RINGTREE_SERVERS") == "required" {
		t.Fatalf("%s is not installed, and RINGTREE_SERVERS=required (Debian: apt-get install %s)", program, program)
	}
	t.Skipf("not tested: %s is not installed", program)
}

// Of starts a server that ends with the test: redis-server or memcached. See [Need].
func Of(t testing.TB, program string, args ...string) *Process {
	t.Helper()
	Need(t, program)
	start := Redis
	if program == "memcached" {
		start = Memcached
	}
	p, err := start(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

// EachStore runs f with the URL of an empty store of each kind.
func EachStore(t *testing.T, f func(t *testing.T, url string)) {
	for name, url := range map[string]func(t *testing.T) string{
		"memory":    func(*testing.T) string { return "mem:" },
		"file":      func(t *testing.T) string { return "bolt:" + t.TempDir() + "/test.db?durability=unsynced" },
		"memcached": func(t *testing.T) string { return "memcached://" + Of(t, "memcached").Addr + "?volatile=on" },
		"redis":     func(t *testing.T) string { return "redis://" + Of(t, "redis-server").Addr },
	} {
		t.Run(name, func(t *testing.T) { f(t, url(t)) })
	}
}

type Process struct {
	Addr string // 127.0.0.1:port

	program string
	args    []string
	dir     string // for its files, if any: created by Start, removed by Stop

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended
	output *bytes.Buffer
}

func start(program, addr string, args ...string) (*Process, error) {
	p := &Process{Addr: addr, program: program, args: args}
	if err := p.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// Start starts the server again, on the same address, after Stop or Kill.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dir != "" {
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			return fmt.Errorf("start %s: %w", p.program, err)
		}
	}
	p.output = new(bytes.Buffer)
	p.cmd = exec.Command(p.program, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.program, err)
	}
	p.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(p.cmd, p.exited)
	return p.await(time.Minute)
}

func (p *Process) await(limit time.Duration) error {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		select {
		case <-p.exited:
			return fmt.Errorf("%s on %s ended at once: %s", p.program, p.Addr, p.output)
		default:
		}
		if conn, err := net.DialTimeout("tcp", p.Addr, time.Second); err == nil {
			return conn.Close()
		}
	}
	p.kill()
	return fmt.Errorf("%s on %s did not listen within %v: %s", p.program, p.Addr, limit, p.output)
}

func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

// Kill ends the server like a crash, and waits for it. Its files stay.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kill()
}

func (p *Process) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// Stop kills the server, if it runs, and removes its files. An orderly shutdown would take
// memcached a second, and a Redis master as long as a replica is behind.
func (p *Process) Stop() {
	p.Kill()
	if p.dir != "" {
		os.RemoveAll(p.dir)
	}
}

// FreePorts returns n ports of the loopback address that were free just now.
func FreePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		// Kept open until all are found, or one could be found twice.
		defer l.Close()
		ports = append(ports, strconv.Itoa(l.Addr().(*net.TCPAddr).Port))
	}
	return ports, nil
}

// Memcached starts a memcached of 64 MB on a free port. It refuses writes when it is full (-M), as
// indexes require. Later args override earlier ones.
func Memcached(args ...string) (*Process, error) {
	return MemcachedThatEvicts(append([]string{"-M"}, args...)...)
}

// MemcachedThatEvicts starts a memcached that drops items when it is full.
func MemcachedThatEvicts(args ...string) (*Process, error) {
	ports, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	all := []string{"-l", "127.0.0.1", "-p", ports[0], "-U", "0", "-m", "64"}
	if os.Getuid() == 0 {
		// It refuses to run as root unless -u names a user.
		all = append(all, "-u", "root")
	}
	return start("memcached", "127.0.0.1:"+ports[0], slices.Concat(all, args)...)
}
