package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/internal/release"
)

// protocol is the version of what the command and the app say to each other: one call a
// connection, in objects of JSON, one a line. The command sends a request. The app answers with
// a frame that says its version, and with others up to the one that has the exit code. When
// it asks for input, the command sends that. A command that was stopped says no more, and
// hears how the verb ends.
//
// A request of a verb that reads has no arguments: see remote.go.
const protocol = 2

// request is what the command wants done.
type request struct {
	V       int      `json:"v"`
	Release string   `json:"release"` // of the command
	Name    string   `json:"name"`    // how the command is called
	Store   string   `json:"store"`   // how it names the store
	Args    []string `json:"args"`
	Reads   bool     `json:"reads,omitempty"` // it asks for what the store holds

	Terminal bool `json:"terminal"` // someone sits at the input
	Live     bool `json:"live"`     // the errors are a terminal
	Clears   bool `json:"clears"`   // the output is one
}

// frame is what the app answers. It has one of these, but the first has V and Release.
type frame struct {
	V       int    `json:"v,omitempty"`
	Release string `json:"release,omitempty"`

	Out  []byte `json:"out,omitempty"`  // for the output
	Err  []byte `json:"err,omitempty"`  // for the errors
	Read int    `json:"read,omitempty"` // the app asks for so many bytes of the input at most
	Exit *int   `json:"exit,omitempty"` // the verb has ended
}

// input is what a frame has asked for.
type input struct {
	In  []byte `json:"in,omitempty"`
	End bool   `json:"end,omitempty"` // there is no more
}

// socketOf returns the socket of the app that has the file at path open.
func socketOf(path string) string { return path + ".sock" }

// longest is how many bytes the path of a socket has at most.
const longest = len(syscall.RawSockaddrUnix{}.Path) - 1

// fits returns an error if no socket can be reached by path.
func fits(path string) error {
	if len(path) > longest {
		return fmt.Errorf("%s is too long for the path of a socket: %d bytes, and %d can be", path, len(path), longest)
	}
	return nil
}

// app is an app that carries a call out.
type app struct {
	socket  string
	release string // that it says it is of
	conn    *net.UnixConn
	says    *json.Decoder
	hears   *json.Encoder
}

// app returns the app that has the store's file open, nil if there is none that serves.
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
	return &app{at, "", conn.(*net.UnixConn), json.NewDecoder(conn), json.NewEncoder(conn)}, nil
}

// through has a carry the call out, and returns the exit code.
func (c *call) through(ctx context.Context, a *app) int {
	defer a.conn.Close()
	args, err := c.argsElsewhere()
	if err == nil {
		err = c.request(a, request{Args: args, Terminal: c.Asks, Live: c.Live, Clears: c.Clears})
	}
	if err != nil {
		return c.end(ctx, err)
	}
	c.tellOf(a)
	code, err := c.relay(ctx, a, c)
	if err != nil {
		return c.end(ctx, err)
	}
	return code
}

// request tells a what to do.
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
		return fmt.Errorf("%w: %s speaks version %d of the protocol, and this command version %d; take the command of the app's release %s",
			errCall, a.socket, f.V, protocol, f.Release)
	}
	a.release = f.Release
	return a.conn.SetDeadline(time.Time{})
}

// tellOf says that a does what is to be done.
func (c *call) tellOf(a *app) {
	c.Note("through the app, by %s", a.socket)
	if own := release.Name(); own != "" && a.release != "" && a.release != own {
		c.Note("the app is of release %s, and this command of %s", a.release, own)
	}
}

// argsElsewhere returns the arguments of the call for a process that has another working
// directory.
func (c *call) argsElsewhere() (args []string, err error) {
	args = append(append(args, c.verb.name()), c.given...)
	if c.resume != "" {
		args = append(args, "--resume="+c.resume)
	}
	args = append(args, "--")
	for i, arg := range c.args {
		if i == 0 && strings.HasSuffix(c.verb.use, " FILE") && arg != "-" {
			if arg, err = filepath.Abs(arg); err != nil {
				return nil, err
			}
		}
		args = append(args, arg)
	}
	return args, nil
}

// relay writes the output of a to out, gives it the input that it asks for, and returns the
// exit code. When ctx ends, a is to stop, and has some time to say how to go on.
func (c *call) relay(ctx context.Context, a *app, out io.Writer) (code int, err error) {
	defer context.AfterFunc(ctx, func() {
		_ = a.conn.CloseWrite()
		_ = a.conn.SetReadDeadline(time.Now().Add(closing))
	})()
	for {
		var f frame
		if err := a.says.Decode(&f); err != nil {
			return 0, fmt.Errorf("%w: the app has ended the call before its time: %w", errNotOpen, err)
		}
		if f.Read > 0 {
			go a.give(c.Stdin, f.Read)
		}
		if len(f.Err) > 0 {
			_, _ = c.Errors().Write(f.Err)
		}
		if len(f.Out) > 0 {
			if _, err := out.Write(f.Out); err != nil {
				return 0, err
			}
		}
		if f.Exit != nil {
			return *f.Exit, nil
		}
	}
}

// mostRead is how much of the input is sent at once.
const mostRead = 64 << 10

// give sends what is read from r, n bytes at most. If it cannot be sent, the call has ended.
func (a *app) give(r io.Reader, n int) {
	data := make([]byte, min(n, mostRead))
	n, err := r.Read(data)
	_ = a.hears.Encode(input{In: data[:n], End: err != nil})
}
