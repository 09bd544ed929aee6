package rediskv

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

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
