package kvtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/optest"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type trace []event

type event struct {
	step int
	at   time.Duration
	who  string
	text string
	op   kv.Op // with its value cut short
	size int   // of its value
}

func (s *Sim) note(who, text string) { s.record(event{who: who, text: text}) }

func (s *Sim) noteOp(who string, op *kv.Op, how string) {
	e := event{who: who, text: how, op: *op, size: len(op.Value)}
	e.op.Value, e.op.Result.Value = short(op.Value), short(op.Result.Value)
	s.record(e)
}

func (s *Sim) record(e event) {
	e.step, e.at = s.step, time.Since(s.began)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = append(s.trace, e)
}

func short(value []byte) []byte {
	if value == nil {
		return nil
	}
	return append([]byte{}, value[:min(len(value), optest.Shown)]...)
}

func (e event) String() string {
	line := fmt.Sprintf("%5d %12v  %-8s %s", e.step, e.at, e.who, e.text)
	if e.op.Kind == 0 {
		return line
	}
	return line + optest.ShowCut(e.op, e.size) + " -> " + optest.ShowAnswer(e.op)
}

func (t trace) lines() []string {
	lines := make([]string, len(t))
	for i, e := range t {
		lines[i] = e.String()
	}
	return lines
}

func (t trace) tail(n int) string {
	return strings.Join(t[max(0, len(t)-n):].lines(), "\n")
}
