// Package crash tests whether a store loses acknowledged writes when its process is killed.
//
// A program starts itself again as a child, which opens the store and calls [Write]. The parent
// calls [Kill], which kills one child after another and checks the data.
package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	writers = 8
	slots   = 256 // keys of a writer; its step n writes the slot n % slots
	maxLife = 250 * time.Millisecond
)

type Report struct {
	Kills int
	Acked int
	Lost  []string
	Torn  []string // incomplete, changed, or never written

	Steps []Step // acknowledged, in order for each writer
}

type Step struct {
	Writer, N    int
	Begun, Ended time.Time // by the child's clock
}

// Err returns an error if anything was lost or torn, or nothing was acknowledged.
func (r Report) Err() error {
	switch {
	case len(r.Lost)+len(r.Torn) > 0:
		return fmt.Errorf("%d kills: of %d acknowledged writes %d lost %.5q, %d torn %.5q",
			r.Kills, r.Acked, len(r.Lost), r.Lost, len(r.Torn), r.Torn)
	case r.Acked == 0:
		return fmt.Errorf("%d kills: no write was acknowledged before them", r.Kills)
	}
	return nil
}

// Write writes to s with several writers, and reports each acknowledged write to acks. It returns
// when every writer has failed.
func Write(s kv.Store, acks io.Writer) error {
	var running sync.WaitGroup
	var errs [writers]error
	for w := range writers {
		running.Go(func() { errs[w] = writeSteps(s, w, acks) })
	}
	running.Wait()
	return errors.Join(errs[:]...)
}

func writeSteps(s kv.Store, w int, acks io.Writer) error {
	ctx := context.Background()
	found, err := read(ctx, s, w)
	if err != nil {
		return err
	}
	for n := found.last() + 1; ; n++ {
		begun := time.Now()
		if err := step(ctx, s, w, n); err != nil {
			return err
		}
		// A short write to a pipe is atomic.
		if _, err := fmt.Fprintln(acks, w, n, begun.UnixNano(), time.Now().UnixNano()); err != nil {
			return err
		}
	}
}

// Every other writer also writes a copy, in the same Atomic if there is one.
func step(ctx context.Context, s kv.Store, w, n int) error {
	if atomic := kv.PowersOf(s).Atomic; atomic != nil && twins(w) {
		return atomic(ctx, func(s kv.Store) error {
			if _, err := kv.One(ctx, s, kv.OpSet(key("item", w, n), payload(w, n))); err != nil {
				return err
			}
			_, err := kv.One(ctx, s, kv.OpSet(key("twin", w, n), payload(w, n)))
			return err
		})
	}
	_, err := kv.One(ctx, s, kv.OpSet(key("item", w, n), payload(w, n)))
	return err
}

func twins(w int) bool { return w%2 == 0 }

func key(class string, w, n int) string { return fmt.Sprintf("crash:%s:%d:%d", class, w, n%slots) }

func payload(w, n int) []byte {
	value := binary.BigEndian.AppendUint64(nil, uint64(n))
	random := rand.NewPCG(uint64(w), uint64(n))
	for range random.Uint64() % 400 {
		value = binary.BigEndian.AppendUint64(value, random.Uint64())
	}
	return value
}

// Kill starts children one after another and kills each at a random moment: every other one after
// its first write, the others perhaps during the start. Then it compares the store with the
// acknowledged writes. child returns the command of a program that calls Write with its standard
// output; open opens the store once the child is dead.
func Kill(times int, seed uint64, child func() *exec.Cmd, open func() (kv.Store, error)) (Report, error) {
	random := rand.New(rand.NewPCG(seed, 0))
	var report Report
	var acked [writers]int
	for i := range times {
		steps, err := killOne(child(), time.Duration(random.Int64N(int64(maxLife))), i%2 == 0)
		if err != nil {
			return report, err
		}
		report.Kills++
		report.Acked += len(steps)
		report.Steps = append(report.Steps, steps...)
		for _, step := range steps {
			acked[step.Writer] = max(acked[step.Writer], step.N)
		}
		if err := report.look(open, &acked); err != nil {
			return report, err
		}
	}
	return report, nil
}

func killOne(cmd *exec.Cmd, life time.Duration, writes bool) ([]Step, error) {
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var ended error
	acks := bufio.NewReader(out)
	if writes {
		_, ended = acks.Peek(1)
	}
	killer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
	steps := readAcks(acks)
	if err := cmd.Wait(); killer.Stop() || ended != nil {
		return nil, fmt.Errorf("the child ended by itself: %w: %.500s", err, said.Bytes())
	}
	return steps, nil
}

func readAcks(from io.Reader) (steps []Step) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		var step Step
		var begun, ended int64
		_, err := fmt.Sscan(lines.Text(), &step.Writer, &step.N, &begun, &ended)
		if err == nil && 0 <= step.Writer && step.Writer < writers {
			step.Begun, step.Ended = time.Unix(0, begun), time.Unix(0, ended)
			steps = append(steps, step)
		}
	}
	return steps
}

// CheckMoment returns an error unless s, restored as of a moment, has every write acknowledged by
// then, and none that began later.
func (r *Report) CheckMoment(ctx context.Context, s kv.Store, at time.Time) error {
	var least, limit [writers]int
	for _, step := range r.Steps {
		if !step.Ended.After(at) {
			least[step.Writer] = max(least[step.Writer], step.N)
		}
		if step.Begun.After(at) && (limit[step.Writer] == 0 || step.N < limit[step.Writer]) {
			limit[step.Writer] = step.N
		}
	}
	var seen Report
	for w := range writers {
		found, err := read(ctx, s, w)
		if err != nil {
			return err
		}
		last := found.last()
		if last < least[w] || limit[w] != 0 && last >= limit[w] {
			return fmt.Errorf("writer %d: found up to step %d, want at least %d and less than %d", w, last, least[w], limit[w])
		}
		seen.compare(w, found, last, twins(w))
	}
	if len(seen.Lost)+len(seen.Torn) > 0 {
		return fmt.Errorf("lost %.5q, torn %.5q", seen.Lost, seen.Torn)
	}
	return nil
}

// The unacknowledged write of each writer may be there, and then counts as acknowledged.
func (r *Report) look(open func() (kv.Store, error), acked *[writers]int) error {
	s, err := open()
	if err != nil {
		return fmt.Errorf("opening after kill %d: %w", r.Kills, err)
	}
	ctx := context.Background()
	canTwin := kv.PowersOf(s).Atomic != nil
	for w := range acked {
		found, err := read(ctx, s, w)
		if err != nil {
			return fmt.Errorf("reading after kill %d: %w", r.Kills, err)
		}
		r.compare(w, found, acked[w], canTwin && twins(w))
		acked[w] = max(acked[w], found.last())
	}
	return s.Close()
}

func (r *Report) compare(w int, found found, acked int, twins bool) {
	for slot := range slots {
		item := found.items[slot]
		n := number(item)
		if want := latest(slot, acked); n < want {
			r.Lost = append(r.Lost, fmt.Sprintf("writer %d step %d: found %d", w, want, n))
		}
		if n > acked+1 || item != nil && (n%slots != slot || !bytes.Equal(item, payload(w, n))) {
			r.Torn = append(r.Torn, fmt.Sprintf("writer %d step %d: not what was written", w, n))
		}
		if twins && !bytes.Equal(item, found.twins[slot]) {
			r.Torn = append(r.Torn, fmt.Sprintf("writer %d step %d: its twin is %d", w, n, number(found.twins[slot])))
		}
	}
}

func latest(slot, n int) int {
	return max(n-((n-slot)%slots+slots)%slots, 0)
}

// found has the values of a writer's slots; nil for an empty one.
type found struct{ items, twins [][]byte }

func read(ctx context.Context, s kv.Store, w int) (f found, err error) {
	if f.items, err = readSlots(ctx, s, "item", w); err != nil {
		return f, err
	}
	f.twins, err = readSlots(ctx, s, "twin", w)
	return f, err
}

func readSlots(ctx context.Context, s kv.Store, class string, w int) ([][]byte, error) {
	keys := make([]string, slots)
	for slot := range keys {
		keys[slot] = key(class, w, slot)
	}
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	values := make([][]byte, slots)
	for slot, r := range results {
		values[slot] = r.Value
	}
	return values, nil
}

func (f found) last() int {
	last := 0
	for _, item := range f.items {
		last = max(last, number(item))
	}
	return last
}

func number(value []byte) int {
	if len(value) < 8 {
		return 0
	}
	return int(binary.BigEndian.Uint64(value))
}
