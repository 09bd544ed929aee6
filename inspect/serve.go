package inspect

import (
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
	"sync"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/internal/release"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Serve runs the command's verbs while the app has the file of an embedded store open. store is its
// URL, bolt:PATH, or PATH. Commands connect to a socket beside the file, PATH.sock: Serve runs
// verbs on db that write or make many trips, and lets the others read its store. Only the user of
// this process can connect. All models must be registered in db before. For any other store, which
// the command can open itself, Serve does nothing.
//
// It serves until ctx ends or stop is called. stop ends the running calls and waits for them, so
// call it before closing db:
//
//	defer inspect.Serve(ctx, db, url)()
//
// Serve replaces the socket of a dead process. If it cannot serve, for instance because another
// process does, it logs the reason to slog.Default, and the app goes on without the command.
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

// serve is Serve with its errors.
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

// isOther matches the URLs of stores other than files.
var isOther = regexp.MustCompile("^[a-z][a-z0-9+-]*:")

// vacant returns an error if there is something at the path of a socket, except the socket of a
// dead process.
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

// listen creates the socket. It does so in a folder closed to other users, and sets the mode before
// moving it into place. Changing the umask would affect the whole app.
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

// place moves the new socket from inside a folder to its path.
func (s *server) place(inside string) (err error) {
	if err := os.Chmod(inside, 0o600); err != nil {
		return err
	}
	if s.made, err = os.Lstat(inside); err != nil {
		return err
	}
	return os.Rename(inside, s.socket)
}

// leave accepts no more calls, and removes the socket unless another process has replaced it.
func (s *server) leave() (err error) {
	if info, failed := os.Lstat(s.socket); failed == nil && os.SameFile(info, s.made) {
		err = os.Remove(s.socket)
	}
	return errors.Join(err, s.listener.Close())
}

// breath is the pause of accept after a failed connection, for instance if file descriptors run
// out.
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

// serve runs the call of a connection.
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
	if r.Reads {
		s.tell(ctx, conn, caller, hears)
		return
	}
	go caller.hear(ctx, cancel, hears)
	code := s.run(ctx, r, caller)
	_ = caller.send(frame{Exit: &code})
}

// run runs the verb, and returns the exit code. A panic of a verb does not end the app.
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

// servable returns an error if the app cannot run the call.
func (c *call) servable() error {
	if c.verb.run == nil || !c.verb.inApp {
		return fmt.Errorf("%w: an app does not run this verb", errCall)
	}
	return ofTenant(kv.PowersOf(c.served.Store()).Prefix, c.tenant)
}

// caller is the command behind a call. It is the verb's input.
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

// hear receives input until the command closes its side, and then stops the verb.
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

// Read requests input from the command.
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
