package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// pipe speaks the DevTools protocol: commands go one way, their answers and
// events come the other, each a JSON text that ends with a NUL.
type pipe struct {
	out io.Writer

	mu        sync.Mutex
	commands  int                      // so many were sent
	waiting   map[int]chan<- message   // for the answer of a command
	listeners map[string]func(message) // for the events of a session
	ended     chan struct{}            // closed when nothing comes any more
}

// message is a command, its answer, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

var errEnded = errors.New("chromium has ended")

// newPipe listens to in until it ends.
func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{
		out:       out,
		waiting:   map[int]chan<- message{},
		listeners: map[string]func(message){},
		ended:     make(chan struct{}),
	}
	go p.read(bufio.NewReader(in))
	return p
}

func (p *pipe) read(in *bufio.Reader) {
	defer close(p.ended)
	for {
		text, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m); err != nil {
			return
		}
		p.deliver(m)
	}
}

func (p *pipe) deliver(m message) {
	p.mu.Lock()
	answer, listener := p.waiting[m.ID], p.listeners[m.Session]
	delete(p.waiting, m.ID)
	p.mu.Unlock()
	switch {
	case answer != nil:
		answer <- m
	case listener != nil && m.ID == 0:
		listener(m)
	}
}

// listen calls heard with the events of a session, one after the other. It must
// not call.
func (p *pipe) listen(session string, heard func(message)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[session] = heard
}

// call sends a command to a session, or with none to the browser, and stores
// its answer in result unless that is nil.
func (p *pipe) call(ctx context.Context, session, method string, params, result any) error {
	answer := make(chan message, 1)
	if err := p.send(session, method, params, answer); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-p.ended:
		return fmt.Errorf("%s: %w", method, errEnded)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
}

func (p *pipe) send(session, method string, params any, answer chan<- message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commands++
	m := message{ID: p.commands, Session: session, Method: method}
	if params != nil {
		text, err := json.Marshal(params)
		if err != nil {
			return err
		}
		m.Params = text
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	p.waiting[m.ID] = answer
	_, err = p.out.Write(append(text, 0))
	return err
}
