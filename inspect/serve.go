package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/internal/release"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// protocol is the version of the protocol between command and app: one call for each connection,
// with JSON objects, one a line. The command sends a request. The app answers with a frame with its
// version, and more up to the one with the exit code. It may request input. A command that stops
// closes its side, and receives frames until the verb ends.
const protocol = 3

type request struct {
	V       int      `json:"v"`
	Release string   `json:"release"` // of the command
	Name    string   `json:"name"`    // the name of the command
	Store   string   `json:"store"`   // the command's name for the store
	Args    []string `json:"args"`

	Terminal bool `json:"terminal"` // a person is at the input
	Live     bool `json:"live"`     // the errors are a terminal
	Clears   bool `json:"clears"`   // the output is a terminal
}

// A frame has one of these fields; the first has V and Release.
type frame struct {
	V       int    `json:"v,omitempty"`
	Release string `json:"release,omitempty"`

	Out  []byte `json:"out,omitempty"`  // for the output
	Err  []byte `json:"err,omitempty"`  // for the errors
	Read int    `json:"read,omitempty"` // requests input, up to this number of bytes
	Exit *int   `json:"exit,omitempty"` // the verb has ended
}

type input struct {
	In  []byte `json:"in,omitempty"`
	End bool   `json:"end,omitempty"` // end of the input
}

func socketOf(path string) string { return path + ".sock" }

const longest = len(syscall.RawSockaddrUnix{}.Path) - 1

func fits(path string) error {
	if len(path) > longest {
		return fmt.Errorf("%s is too long for the path of a socket: it has %d bytes of at most %d", path, len(path), longest)
	}
	return nil
}

type app struct {
	socket string
	conn   *net.UnixConn
	says   *json.Decoder
	hears  *json.Encoder
}

func (c *call) app(ctx context.Context) (*app, error) {
	path, inFile := boltPath(c.url())
	if !inFile || path == "" {
		return nil, nil
	}
	at := socketOf(path)
	if info, err := os.Stat(at); err != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, nil
	}
	if err := fits(at); err != nil {
		return nil, fmt.Errorf("%w: %w; a path from another working directory may be shorter", errNotOpen, err)
	}
	dialer := net.Dialer{Timeout: reach}
	conn, err := dialer.DialContext(ctx, "unix", at)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		c.Note("%s was left behind by a process that is gone", at)
		return nil, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: the app does not answer: %w", errNotOpen, err)
	}
	return &app{at, conn.(*net.UnixConn), json.NewDecoder(conn), json.NewEncoder(conn)}, nil
}

func (c *call) through(ctx context.Context, a *app) int {
	defer a.conn.Close()
	args, err := c.argsElsewhere()
	if err == nil {
		err = c.request(a, request{Args: args, Terminal: c.Asks, Live: c.Live, Clears: c.Clears})
	}
	if err != nil {
		return c.end(ctx, err)
	}
	return c.end(ctx, c.relay(ctx, a, c))
}

// An exitCode is the failure of a verb in the app, which printed the reason.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("the app ended with exit code %d", int(e)) }

func (c *call) request(a *app, r request) error {
	if err := a.conn.SetDeadline(time.Now().Add(reach)); err != nil {
		return err
	}
	r.V, r.Release, r.Name, r.Store = protocol, release.Name(), c.Name, c.url()
	sent := a.hears.Encode(r)
	var f frame
	heard := a.says.Decode(&f)
	switch {
	case heard != nil:
		return fmt.Errorf("%w: the app does not answer on %s: %w", errNotOpen, a.socket, cmp.Or(sent, heard))
	case f.V != protocol:
		return fmt.Errorf("%w: the app at %s has protocol version %d, this command version %d; use the command of release %s",
			errCall, a.socket, f.V, protocol, f.Release)
	}
	c.Note("through the app, by %s", a.socket)
	if own := release.Name(); own != "" && f.Release != "" && f.Release != own {
		c.Note("the app has release %s, this command %s", f.Release, own)
	}
	return a.conn.SetDeadline(time.Time{})
}

// The app may have another working directory.
func (c *call) argsElsewhere() (args []string, err error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	absolute := func(path string) string {
		if path == "" || path == "-" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(here, path)
	}
	args = []string{c.verb.name()}
	for _, flag := range c.given {
		if path, ok := strings.CutPrefix(flag, "--against="); ok {
			flag = "--against=" + absolute(path)
		}
		args = append(args, flag)
	}
	if c.resume != "" {
		args = append(args, "--resume="+c.resume)
	}
	args = append(append(args, "--"), c.args...)
	if use := strings.Fields(c.verb.use); len(c.args) > 0 {
		first := &args[len(args)-len(c.args)]
		path, isBolt := strings.CutPrefix(*first, "bolt:")
		switch {
		case use[1] == "FILE":
			*first = absolute(*first)
		case isBolt && strings.Contains(use[1], "URL"):
			*first = "bolt:" + absolute(path)
		}
	}
	return args, nil
}

// relay ends with the verb. When ctx ends, the verb gets some time to print how to continue.
func (c *call) relay(ctx context.Context, a *app, out io.Writer) error {
	defer context.AfterFunc(ctx, func() {
		_ = a.conn.CloseWrite()
		_ = a.conn.SetReadDeadline(time.Now().Add(closing))
	})()
	for {
		var f frame
		if err := a.says.Decode(&f); err != nil {
			return fmt.Errorf("%w: the app stopped before the command was done: %w", errNotOpen, err)
		}
		if f.Read > 0 {
			go a.send(c.Stdin, f.Read)
		}
		if len(f.Err) > 0 {
			_, _ = c.Errors().Write(f.Err)
		}
		if len(f.Out) > 0 {
			if _, err := out.Write(f.Out); err != nil {
				return err
			}
		}
		if f.Exit != nil && *f.Exit != exitWell {
			return exitCode(*f.Exit)
		}
		if f.Exit != nil {
			return nil
		}
	}
}

const mostRead = 64 << 10

func (a *app) send(r io.Reader, n int) {
	data := make([]byte, min(n, mostRead))
	n, err := r.Read(data)
	_ = a.hears.Encode(input{In: data[:n], End: err != nil})
}

// Serve runs the verbs of the command on db, for commands of the same user that connect to
// PATH.sock, until ctx ends or stop is called. stop ends the running calls, so call it before
// closing db. store is bolt:PATH or PATH; for other stores Serve does nothing. Register all models
// in db before:
//
//	defer inspect.Serve(ctx, db, url)()
//
// If Serve cannot serve, for instance because another process does, it logs the reason to
// slog.Default.
func Serve(ctx context.Context, db *kvmodel.DB, store string) (stop func()) {
	end, err := serve(ctx, db, store)
	if err != nil {
		slog.Warn("inspect: the database command does not work while the app runs", "err", err)
		return func() {}
	}
	return func() {
		if err := end(); err != nil {
			slog.Warn("inspect: the socket of the database command could not be removed", "err", err)
		}
	}
}

func serve(ctx context.Context, db *kvmodel.DB, store string) (stop func() error, err error) {
	path := filePath(store)
	if path == store && isOther.MatchString(store) {
		return func() error { return nil }, nil
	}
	at := socketOf(path)
	if err := vacant(at); err != nil {
		return nil, fmt.Errorf("serve %s: %w", path, err)
	}
	s := &server{db: db, socket: at}
	if err := s.listen(); err != nil {
		return nil, fmt.Errorf("serve %s: %w", path, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	s.calls.Go(func() { s.accept(ctx) })
	end := sync.OnceValue(func() error {
		cancel()
		err := s.leave()
		s.calls.Wait()
		return err
	})
	context.AfterFunc(ctx, func() { _ = end() }) // stop returns the error.
	return end, nil
}

var isOther = regexp.MustCompile("^[a-z][a-z0-9+-]*:")

// vacant returns an error unless nothing is at the path, or the socket of a dead process.
func vacant(at string) error {
	info, err := os.Lstat(at)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s exists, and is not a socket", at)
	}
	conn, err := net.DialTimeout("unix", at, reach)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("another process serves on %s", at), conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist):
		return nil
	}
	return err
}

type server struct {
	db       *kvmodel.DB
	socket   string
	made     os.FileInfo
	listener *net.UnixListener
	calls    sync.WaitGroup
}

// listen moves the socket into place with its mode: changing the umask would affect the whole app.
func (s *server) listen() (err error) {
	dir, err := os.MkdirTemp(filepath.Dir(s.socket), ".sock") // with mode 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	inside := filepath.Join(dir, "s")
	if err := errors.Join(fits(s.socket), fits(inside)); err != nil {
		return err
	}
	s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: inside, Net: "unix"})
	if err != nil {
		return err
	}
	s.listener.SetUnlinkOnClose(false)
	if err := s.place(inside); err != nil {
		return errors.Join(err, s.listener.Close())
	}
	return nil
}

func (s *server) place(inside string) (err error) {
	if err := os.Chmod(inside, 0o600); err != nil {
		return err
	}
	if s.made, err = os.Lstat(inside); err != nil {
		return err
	}
	return os.Rename(inside, s.socket)
}

func (s *server) leave() (err error) {
	if info, failed := os.Lstat(s.socket); failed == nil && os.SameFile(info, s.made) {
		err = os.Remove(s.socket)
	}
	return errors.Join(err, s.listener.Close())
}

// breath is the pause after a failed accept.
const breath = 100 * time.Millisecond

func (s *server) accept(ctx context.Context) {
	for ctx.Err() == nil {
		conn, err := s.listener.AcceptUnix()
		if err != nil {
			kv.Sleep(ctx, breath)
			continue
		}
		s.calls.Go(func() { s.serve(ctx, conn) })
	}
}

func (s *server) serve(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(reach))
	hears := json.NewDecoder(conn)
	var r request
	if err := hears.Decode(&r); err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now().Add(reach)) })
	caller := &caller{says: json.NewEncoder(conn), inputs: make(chan input, 1)}
	err := caller.send(frame{V: protocol, Release: release.Name()})
	if err != nil || r.V != protocol {
		return
	}
	go caller.hear(ctx, cancel, hears)
	code := s.run(ctx, r, caller)
	_ = caller.send(frame{Exit: &code})
}

func (s *server) run(ctx context.Context, r request, from *caller) (code int) {
	c := newCall(Config{Name: r.Name, Args: r.Args, Stdin: from, Stdout: toOutput{from}, Stderr: toErrors{from}})
	c.Asks, c.Live, c.Clears = r.Terminal, r.Live, r.Clears
	c.served = s.db
	defer func() {
		if p := recover(); p != nil {
			c.Note("%s: panic: %v\n%s", c.Name, p, debug.Stack())
			code = exitDiffers
		}
	}()
	err := c.parse(ctx)
	c.storeURL = r.Store
	if err == nil {
		err = c.servable()
	}
	if err != nil {
		return c.end(ctx, err)
	}
	return c.carryOut(ctx)
}

func (c *call) servable() error {
	wants := ""
	if c.tenant != "" {
		wants = kv.JoinText(c.tenant) + ":"
	}
	prefix := kv.PowersOf(c.served.Store()).Prefix
	switch {
	case c.verb.run == nil || c.verb.local != nil && c.verb.local(c):
		return fmt.Errorf("%w: this needs no app", errCall)
	case prefix == wants:
		return nil
	case prefix == "":
		return fmt.Errorf("%w: the app has no tenant, so leave out --tenant", errCall)
	}
	return fmt.Errorf("%w: the app serves only the tenant %s: pass it with --tenant", errCall, strings.TrimSuffix(prefix, ":"))
}

type caller struct {
	mu   sync.Mutex
	says *json.Encoder

	inputs chan input // closed after the last input
	rest   []byte     // unread bytes of the last input
}

func (c *caller) send(f frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.says.Encode(f)
}

// When the command closes its side, hear stops the verb.
func (c *caller) hear(ctx context.Context, stop func(), hears *json.Decoder) {
	defer close(c.inputs)
	defer stop()
	for {
		var i input
		if err := hears.Decode(&i); err != nil {
			return
		}
		select {
		case c.inputs <- i:
		case <-ctx.Done():
			return
		}
	}
}

func (c *caller) Read(p []byte) (int, error) {
	for len(c.rest) == 0 {
		if err := c.send(frame{Read: len(p)}); err != nil {
			return 0, err
		}
		i, ok := <-c.inputs
		c.rest = i.In
		if len(c.rest) == 0 && (!ok || i.End) {
			return 0, io.EOF
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

type (
	toOutput struct{ *caller }
	toErrors struct{ *caller }
)

func (to toOutput) Write(p []byte) (int, error) { return len(p), to.send(frame{Out: p}) }
func (to toErrors) Write(p []byte) (int, error) { return len(p), to.send(frame{Err: p}) }
