package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/ringtree/ringtree/bench/compare/peers"
)

// Each peer lives in a process of its own, so that none pays for the heap of another.
// The process gets tasks on its standard input and answers with samples.

// childVariable holds the job of a process that is one peer.
const childVariable = "RINGTREE_COMPARE_PEER"

// job is the peer to be, and its data set.
type job struct {
	Peer   string
	Place  peers.Place
	Pages  int
	Sample bool // whether the sample app's pages are measured
}

// task is one measurement.
type task struct {
	Workload string
	Clients  int
	Lasts    time.Duration
}

// child is the process of a peer.
type child struct {
	kind peers.Kind
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// startChild starts the process of a peer, which loads its data set.
func startChild(ctx context.Context, kind peers.Kind, j job) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{kind, cmd, in, json.NewDecoder(out)}
	var loaded sample
	if err := c.out.Decode(&loaded); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", kind.Name, err), c.stop())
	}
	if loaded.Error != "" {
		return nil, errors.Join(fmt.Errorf("%s: %s", kind.Name, loaded.Error), c.stop())
	}
	return c, nil
}

func (c *child) measure(t task) (s sample, err error) {
	if err := json.NewEncoder(c.in).Encode(t); err != nil {
		return s, fmt.Errorf("%s: %w", c.kind.Name, err)
	}
	if err := c.out.Decode(&s); err != nil {
		return s, fmt.Errorf("%s: %w", c.kind.Name, err)
	}
	return s, nil
}

// stop ends the process, which closes its peer.
func (c *child) stop() error {
	c.in.Close()
	return c.cmd.Wait()
}

// beChild is the main function of a peer's process.
func beChild(ctx context.Context, text string) error {
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	// Requests have contexts that can end.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := json.NewEncoder(os.Stdout)
	p, err := loaded(ctx, j)
	if err != nil {
		return out.Encode(sample{Error: err.Error()})
	}
	if err := out.Encode(sample{}); err != nil {
		return err
	}
	in := json.NewDecoder(os.Stdin)
	for {
		var t task
		if err := in.Decode(&t); err != nil {
			return p.Close() // The input has ended.
		}
		if err := out.Encode(carryOut(ctx, p, j.Pages, t)); err != nil {
			return err
		}
	}
}

// loaded returns the peer of a job with its data set.
func loaded(ctx context.Context, j job) (peers.Peer, error) {
	i := slices.IndexFunc(peers.All, func(k peers.Kind) bool { return k.Name == j.Peer })
	if i < 0 {
		return nil, fmt.Errorf("there is no peer %q", j.Peer)
	}
	p, err := peers.All[i].Open(ctx, j.Place)
	if err != nil {
		return nil, err
	}
	if err := p.Load(ctx, j.Pages); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	if f, ok := p.(peers.Framework); ok {
		err = f.LoadRows(ctx)
	}
	if s, ok := p.(peers.Sampler); ok && j.Sample && err == nil {
		err = s.LoadSample(ctx, j.Pages)
	}
	return p, err
}

// warmUp is the part of a measurement, as a divisor, for which the work is done before it.
const warmUp = 4

// carryOut measures a task, after a look whether the peer can do it, and a warm-up.
func carryOut(ctx context.Context, p peers.Peer, pages int, t task) sample {
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == t.Workload })
	work, err := workloads[i].prepare(ctx, p, pages)
	if err != nil {
		return sample{Error: err.Error()}
	}
	if s := measure(ctx, p, work, t.Clients, t.Lasts/warmUp); s.Failed > 0 {
		return s
	}
	return measure(ctx, p, work, t.Clients, t.Lasts)
}
