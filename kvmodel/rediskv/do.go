package rediskv

import (
	"context"
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond
)

// Do sends ops, and repeats those that were certainly not carried out, and gets, while the server
// says that it cannot serve them yet.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	good := kv.Check(ops, s.Powers())
	if good == 0 {
		return nil
	}
	pending := make([]*kv.Op, 0, good)
	for i := range ops {
		if ops[i].Result.Err == nil {
			pending = append(pending, &ops[i])
		}
	}
	var chains kv.Chains
	for len(pending) > 0 {
		n := s.flightLen(pending)
		s.carryOut(ctx, pending[:n], &chains)
		pending = slices.DeleteFunc(pending[n:], chains.Skips)
		if len(pending) > 0 && kv.Unanswered(ops) != nil {
			s.giveUp(pending, errStopped)
			break
		}
	}
	return kv.Unanswered(ops)
}

func (s *Store) carryOut(ctx context.Context, pending []*kv.Op, chains *kv.Chains) {
	var end time.Time
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if err := s.over(ctx); err != nil {
			s.giveUp(pending, err)
			return
		}
		s.flyMet(ctx, pending)
		if pending = repeatable(pending, chains); len(pending) == 0 {
			return
		}
		if end.IsZero() {
			end = s.endOf(ctx)
		}
		d := pause/2 + kv.Jitter(pause/2)
		if time.Until(end) < d {
			return
		}
		kv.Sleep(ctx, d)
	}
}

func (s *Store) endOf(ctx context.Context) time.Time {
	if end, ok := ctx.Deadline(); ok {
		return end
	}
	return time.Now().Add(s.opts.Patience)
}

func (s *Store) over(ctx context.Context) error {
	if s.closed.Load() {
		return errClosed
	}
	return kv.Ended(ctx)
}

func (s *Store) giveUp(ops []*kv.Op, err error) {
	for _, op := range ops {
		cause := err
		if before := op.Result.Err; before != nil {
			cause = fmt.Errorf("%w; before that: %w", err, before)
		}
		op.Result = kv.Result{Err: s.failed(kv.ErrUnavailable, cause)}
	}
}

// fly sends pending, and again with the script's text if the server does not have the script.
func (s *Store) fly(ctx context.Context, pending []*kv.Op) {
	if unknown := s.flyOnce(ctx, pending, s.script.sha); unknown != nil {
		s.flyOnce(ctx, unknown, "")
	}
}

// flyOnce returns the ops whose script the server does not know.
func (s *Store) flyOnce(ctx context.Context, pending []*kv.Op, sha string) []*kv.Op {
	f := s.newFlight(pending, sha)
	if err := f.send(ctx); err != nil {
		f.abandon(err)
		return nil
	}
	unknown := f.land()
	f.recycle()
	return unknown
}

// repeatable returns the ops that may be sent again. It notes the chains broken by the others.
func repeatable(ops []*kv.Op, chains *kv.Chains) []*kv.Op {
	var again []*kv.Op
	for _, op := range ops {
		if f, ok := op.Result.Err.(*failure); ok && f.again {
			again = append(again, op)
			continue
		}
		chains.Note(op)
	}
	return slices.DeleteFunc(again, chains.Skips)
}

//go:embed ops.lua
var opsLua string

type script struct {
	text string
	sha  string
}

// billion splits a number into two parts for the script, whose numbers are doubles.
const billion = 1_000_000_000

func newScript() script {
	text := strings.NewReplacer(
		"$MAX_VALUE", strconv.Itoa(kv.MaxValue),
		"$MAX_HIGH", strconv.Itoa(kv.MaxNumber/billion),
		"$MAX_LOW", strconv.Itoa(kv.MaxNumber%billion),
	).Replace(opsLua)
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

func (sc script) run(b rueidis.Builder, ops []*kv.Op, sha string) rueidis.Completed {
	args := make([]string, 0, 4*len(ops))
	for _, op := range ops {
		three := scriptArgs(op)
		args = append(args, scriptKind(op), three[0], three[1], three[2])
	}
	n := int64(len(ops))
	if sha == "" {
		return b.Eval().Script(sc.text).Numkeys(n).Key(keysOf(ops)...).Arg(args...).Build()
	}
	return b.Evalsha().Sha1(sha).Numkeys(n).Key(keysOf(ops)...).Arg(args...).Build()
}

func scriptKind(op *kv.Op) string {
	if op.Chain == 0 {
		return op.Kind.String()
	}
	return strconv.FormatUint(op.Chain, 10) + op.Kind.String()
}

func scriptArgs(op *kv.Op) [3]string {
	ms := strings.Join(ttl(op), "")
	switch op.Kind {
	case kv.Set, kv.Add:
		return [3]string{newText(op.Value), ms}
	case kv.CompareAndSwap:
		return [3]string{string(head(op.Version)), newText(op.Value), ms}
	case kv.CompareAndDelete:
		return [3]string{string(head(op.Version))}
	case kv.Append:
		return [3]string{newText(nil), string(op.Value), string(op.Unless)}
	case kv.Increment:
		// Both parts have the sign of the delta.
		return [3]string{newText(nil), strconv.FormatInt(op.Delta/billion, 10), strconv.FormatInt(op.Delta%billion, 10)}
	}
	return [3]string{}
}

const keysAtOnce = 1000

var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "^", `\^`)

func (s *Store) keys(ctx context.Context, begin string, f func([]string) error) error {
	if !s.cluster {
		return s.keysOf(ctx, s.client, begin, f)
	}
	for _, node := range s.client.Nodes() {
		role, err := node.Do(ctx, node.B().Role().Build()).ToArray()
		if err != nil {
			return s.unlisted(err)
		}
		if name, _ := role[0].ToString(); name != "master" {
			continue
		}
		if err := s.keysOf(ctx, node, begin, f); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) keysOf(ctx context.Context, server rueidis.Client, begin string, f func([]string) error) error {
	for cursor := uint64(0); ; {
		scan := server.B().Scan().Cursor(cursor).Match(literal.Replace(begin) + "*").Count(keysAtOnce).Build()
		page, err := server.Do(ctx, scan).AsScanEntry()
		if err != nil {
			return s.unlisted(err)
		}
		if len(page.Elements) > 0 {
			if err := f(page.Elements); err != nil {
				return err
			}
		}
		if cursor = page.Cursor; cursor == 0 {
			return nil
		}
	}
}

func (s *Store) unlisted(err error) error {
	return fmt.Errorf("rediskv: %s: keys: %w: %w", s.where, kv.ErrUnavailable, err)
}
