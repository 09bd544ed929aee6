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
			go a.give(c.Stdin, f.Read)
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

func (a *app) give(r io.Reader, n int) {
	data := make([]byte, min(n, mostRead))
	n, err := r.Read(data)
	_ = a.hears.Encode(input{In: data[:n], End: err != nil})
}
