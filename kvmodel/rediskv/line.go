package rediskv

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type line struct {
	opts  Options
	plain *net.Dialer
}

func newLine(opts Options) line {
	return line{opts, &net.Dialer{Timeout: opts.Patience, KeepAlive: rueidis.DefaultTCPKeepAlive}}
}

func (l line) dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := l.plain.DialContext(ctx, "tcp", addr)
	if err != nil || l.opts.TLS == nil {
		return conn, err
	}
	return l.secure(ctx, conn, addr)
}

func (l line) talkTo(ctx context.Context, addr, user, password string) (*talk, error) {
	conn, err := l.dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	t := newTalk(conn)
	if err := t.logIn(ctx, user, password); err != nil {
		conn.Close()
		return nil, err
	}
	return t, nil
}

// secure starts TLS on raw. A server without TLS may wait for the rest of a command, so after a
// while secure also tries to talk to it without TLS.
func (l line) secure(ctx context.Context, raw net.Conn, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Patience)
	defer cancel()
	conn := tls.Client(raw, l.configFor(addr))
	ended := make(chan error, 1)
	go func() { ended <- conn.HandshakeContext(ctx) }()
	var err error
	select {
	case err = <-ended:
	case <-l.answersPlainly(ctx, addr):
		err = tls.RecordHeaderError{Msg: "the server answers without TLS"}
	}
	if err != nil {
		raw.Close()
		return nil, l.explain(addr, err)
	}
	return conn, nil
}

func (l line) configFor(addr string) *tls.Config {
	config := l.opts.TLS.Clone()
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(addr)
	}
	return config
}

const askAfter = 200 * time.Millisecond

// answersPlainly returns a channel that is closed if the server answers without TLS.
func (l line) answersPlainly(ctx context.Context, addr string) <-chan struct{} {
	answers := make(chan struct{})
	go func() {
		if !kv.Sleep(ctx, askAfter) {
			return
		}
		conn, err := l.plain.DialContext(ctx, "tcp", addr)
		if err != nil {
			return
		}
		defer conn.Close()
		_, err = newTalk(conn).ask(ctx, "PING")
		if no := refusal(""); err == nil || errors.As(err, &no) {
			close(answers)
		}
	}()
	return answers
}

// speaksTLS reports whether the server speaks TLS, whatever certificates it has or requires.
func (l line) speaksTLS(ctx context.Context, addr string) bool {
	raw, err := l.plain.DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	defer raw.Close()
	err = tls.Client(raw, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx)
	return err == nil || isAlert(err)
}

func isAlert(err error) bool { return strings.Contains(err.Error(), "remote error: tls:") }

// mistaken returns an error if a server speaks TLS and the store does not, or if it rejects the
// store's certificate.
func (l line) mistaken(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, addr := range l.opts.Addrs {
		if l.opts.TLS != nil {
			if err := l.turnedAway(ctx, addr); err != nil {
				return err
			}
		} else if l.speaksTLS(ctx, addr) {
			return fmt.Errorf("%s speaks TLS: write rediss:// in the URL", addr)
		}
	}
	return nil
}

// turnedAway returns the server's error about this program's certificate. It may come after the
// handshake, when a client that has already sent a command would miss it.
func (l line) turnedAway(ctx context.Context, addr string) error {
	conn, err := l.dial(ctx, addr)
	if err != nil {
		return nil
	}
	defer conn.Close()
	end, _ := ctx.Deadline()
	_ = conn.SetReadDeadline(end)
	if _, err := conn.Read(make([]byte, 1)); err != nil && isAlert(err) {
		return l.explain(addr, err)
	}
	return nil
}

func (l line) explain(addr string, err error) error {
	var header tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	what := "TLS with " + addr
	switch {
	case errors.As(err, &header):
		what = addr + " speaks no TLS: write redis:// in the URL, or the port at which it does"
	case errors.As(err, &unknown) && l.opts.TLS.RootCAs != nil:
		what = "the certificate of " + addr + " is signed by no authority of ca=FILE"
	case errors.As(err, &unknown):
		what = "the certificate of " + addr + " is signed by no authority that this machine knows: give the authority's own by ca=FILE"
	case errors.As(err, &other):
		what = "the certificate of " + addr + " is for another name: write that one, or give it by server-name=NAME"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		what = fmt.Sprintf("the certificate of %s is good from %v to %v", addr, invalid.Cert.NotBefore.UTC(), invalid.Cert.NotAfter.UTC())
	case isAlert(err) && strings.Contains(err.Error(), "certificate"):
		what = addr + " wants to see a certificate of its own authority: give it by cert=FILE and key=FILE"
	}
	return fmt.Errorf("%s: %w", what, err)
}

// talk queries a server before the client uses it, one command at a time.
type talk struct {
	conn net.Conn
	in   *bufio.Reader
}

func newTalk(conn net.Conn) *talk { return &talk{conn, bufio.NewReader(conn)} }

type refusal string

func (r refusal) Error() string { return string(r) }

// ask returns a string, an int64, nil, or a list of these as []any. The error may be a refusal.
func (t *talk) ask(ctx context.Context, command ...string) (answer any, err error) {
	end, _ := ctx.Deadline()
	if err := t.conn.SetDeadline(end); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = t.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	request := []byte(fmt.Sprintf("*%d\r\n", len(command)))
	for _, part := range command {
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(part), part)
	}
	if _, err := t.conn.Write(request); err != nil {
		return nil, err
	}
	return t.read()
}

const maxTalk = 1 << 20

func (t *talk) read() (any, error) {
	line, err := t.in.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	kind, text := line[0], strings.TrimSuffix(string(line[1:]), "\r\n")
	switch kind {
	case '+':
		return text, nil
	case '-':
		return nil, refusal(text)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || !strings.ContainsRune(":$*", rune(kind)):
		return nil, errReply
	case kind == ':':
		return n, nil
	case n < 0:
		return nil, nil
	case n > maxTalk:
		return nil, errReply
	case kind == '$':
		return t.readText(int(n))
	}
	return t.readList(int(n))
}

func (t *talk) readText(n int) (any, error) {
	text := make([]byte, n+len("\r\n"))
	_, err := io.ReadFull(t.in, text)
	return string(text[:n]), err
}

func (t *talk) readList(n int) (any, error) {
	var list []any
	for range n {
		answer, err := t.read()
		if no := refusal(""); errors.As(err, &no) {
			answer, err = no, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, answer)
	}
	return list, nil
}

func (t *talk) logIn(ctx context.Context, user, password string) error {
	command := []string{"AUTH", user, password}
	switch {
	case user == "" && password == "":
		return nil
	case user == "":
		command = []string{"AUTH", password}
	}
	_, err := t.ask(ctx, command...)
	return err
}

func pairs(answer any) map[string]string {
	list, _ := answer.([]any)
	found := make(map[string]string)
	for ; len(list) > 1; list = list[2:] {
		name, _ := list[0].(string)
		value, _ := list[1].(string)
		found[name] = value
	}
	return found
}
