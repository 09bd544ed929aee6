package place

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ringtree/ringtree/internal/proof/servers"
)

const (
	Postgres  = "postgres"
	Redis     = "redis-server"
	Memcached = "memcached"
)

// Missing returns an error with advice if a server is not installed.
func Missing(server string) error {
	if server == "" {
		return nil
	}
	if _, err := Program(server); err != nil {
		return fmt.Errorf("%s is not installed: run scripts/setup.sh %s", server, server)
	}
	return nil
}

// Program returns the path of a program. Debian leaves most of PostgreSQL's off the PATH.
func Program(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", err
	}
	return found[len(found)-1], nil
}

// Start sets the address of a server in at. stop ends it and removes its data.
func Start(server string, at *Place) (stop func(), err error) {
	if at.Pids == nil {
		at.Pids = map[string]int{}
	}
	switch server {
	case Postgres:
		return startPostgres(at)
	case Redis:
		return at.started(Redis, &at.Redis)(servers.Redis())
	case Memcached:
		args := []string{"-m", "8192", "-c", "1024"}
		if os.Getuid() == 0 {
			args = append(args, "-u", "nobody")
		}
		return at.started(Memcached, &at.Memcached)(servers.Memcached(args...))
	}
	return nil, fmt.Errorf("no server is called %q", server)
}

func (p *Place) started(server string, addr *string) func(*servers.Process, error) (func(), error) {
	return func(process *servers.Process, err error) (func(), error) {
		if err != nil {
			return nil, err
		}
		*addr, p.Pids[server] = process.Addr, process.Pid()
		return process.Stop, nil
	}
}

const postgresUser = "compare"

// startPostgres configures PostgreSQL as its documentation advises, durable, in a new folder.
func startPostgres(at *Place) (stop func(), err error) {
	who, err := ordinaryUser()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "compare-postgres-")
	if err != nil {
		return nil, err
	}
	if who != nil {
		err = os.Chown(dir, int(who.Credential.Uid), int(who.Credential.Gid))
	}
	if err == nil {
		err = initPostgres(who, dir)
	}
	end := func() {}
	if err == nil {
		end, err = at.servePostgres(who, dir)
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return func() { end(); os.RemoveAll(dir) }, nil
}

func initPostgres(who *syscall.SysProcAttr, dir string) error {
	initdb, err := Program("initdb")
	if err != nil {
		return err
	}
	cmd := exec.Command(initdb, "-D", dir, "-U", postgresUser, "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8")
	cmd.SysProcAttr, cmd.Dir = who, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (p *Place) servePostgres(who *syscall.SysProcAttr, dir string) (stop func(), err error) {
	ports, err := servers.FreePorts(1)
	if err != nil {
		return nil, err
	}
	program, err := Program(Postgres)
	if err != nil {
		return nil, err
	}
	args := []string{"-D", dir, "-p", ports[0]}
	for _, setting := range []string{
		"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=200",
		"shared_buffers=" + strconv.Itoa(Memory()/4>>20) + "MB", "max_wal_size=4GB", "random_page_cost=1.1",
	} {
		args = append(args, "-c", setting)
	}
	var output bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.SysProcAttr, cmd.Dir = who, dir
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // It was stopped, or await reports that it did not listen.
		close(exited)
	}()
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt) // closes its connections, unlike kill -9
		<-exited
	}
	p.Postgres, p.PostgresDir, p.Pids[Postgres] = net.JoinHostPort("127.0.0.1", ports[0]), dir, cmd.Process.Pid
	if err := p.awaitPostgres(exited); err != nil {
		stop()
		return nil, fmt.Errorf("postgres: %w: %s", err, &output)
	}
	return stop, nil
}

func (p *Place) awaitPostgres(exited <-chan struct{}) error {
	dsn, err := p.dsn("postgres")
	if err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		select {
		case <-exited:
			return errors.New("it ended at once")
		default:
		}
		conn, err := pgx.Connect(context.Background(), dsn)
		if err == nil {
			return conn.Close(context.Background())
		}
	}
	return errors.New("it took no connection within a minute")
}

// ordinaryUser returns the attributes for a program that refuses root; nil if this process is not
// root's.
func ordinaryUser() (*syscall.SysProcAttr, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, errors.Join(err1, err2)
	}
	return nil, errors.New("PostgreSQL refuses root, and there is neither a user postgres nor a user nobody")
}

// Memory returns the memory of the machine in bytes, or a GB if unknown.
func Memory() int {
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "MemTotal:" {
			if kb, err := strconv.Atoi(fields[1]); err == nil {
				return kb << 10
			}
		}
	}
	return 1 << 30
}
