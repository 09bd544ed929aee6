package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
)

// TestMain makes the test program a peer where run starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestRun_MeasuresPeersInTurnsAndKeepsTheResults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.jsonl")
	args := []string{"-n", "1000", "-peers", "bbolt,ringtree-file-periodic,ringtree-memory", "-workloads", "W2,W9,pages", "-clients", "1,2", "-rounds", "2", "-time", "20ms", "-o", file}
	var said strings.Builder
	must(t, run(t.Context(), args, &said))
	at, results, err := readLines(file)
	if err != nil || at == nil || at.Versions["go.etcd.io/bbolt"] == "" {
		t.Errorf("want the versions of the peers, got %v, %v", at, err)
	}
	var got []string
	for _, r := range results {
		if r.Rounds != 2 || r.Error != "" || r.P50.Median <= 0 || r.P50.Min > r.P50.Median || r.P50.Median > r.P50.Max || r.Ops.Min <= 0 || r.Allocs <= 0 || r.CPU.Median <= 0 {
			t.Errorf("not what a result is: %+v", r)
		}
		if hasFile := r.Peer != "ringtree-memory"; hasFile != (r.Files > 0 && r.Cached > 0) {
			t.Errorf("%s: %d bytes of files, %.0f %% of them in the page cache", r.Peer, r.Files, r.Cached)
		}
		got = append(got, fmt.Sprint(r.Workload, " ", r.Peer, " ", r.Clients))
	}
	want := []string{
		"W2 bbolt 1", "W2 ringtree-file-periodic 1", "W2 ringtree-memory 1", "W2 bbolt 2", "W2 ringtree-file-periodic 2", "W2 ringtree-memory 2",
		"W9 bbolt 1", "W9 ringtree-file-periodic 1", "W9 ringtree-memory 1", "W9 bbolt 2", "W9 ringtree-file-periodic 2", "W9 ringtree-memory 2",
		"pages ringtree-file-periodic 1", "pages ringtree-memory 1", "pages ringtree-file-periodic 2", "pages ringtree-memory 2",
	}
	proof.NoDiff(t, cmp.Diff(want, got), "results")
	for _, want := range []string{"in the page cache: bbolt ", ", load ", " us + 0, "} {
		proof.Contains(t, said.String(), want)
	}
}

func TestMixes_AskForEachKindOfPageByItsShare(t *testing.T) {
	ofForum := map[string]int{}
	for _, v := range forumViews {
		ofForum[v.name] = v.share
	}
	for _, test := range []struct {
		on     dataSet
		mix    func(context.Context, *subject, int) (op, error)
		writes int
		want   map[string]int // in a thousand
	}{
		{onSite, mix, 10, map[string]int{"feed": 250, "article": 350, "profile": 150, "tag": 150, "favorite": 50, "comment": 30, "publish": 20}},
		{onSite, mix, 100, map[string]int{"favorite": 500, "comment": 300, "publish": 200}},
		{onForum, forumMix, 0, ofForum},
	} {
		j := job{Peer: "ringtree-memory", Size: 2000}
		j.Load[test.on] = true
		s, err := open(t.Context(), j)
		must(t, err)
		do, err := test.mix(t.Context(), s, test.writes)
		must(t, err)
		const n = 4000
		got, r := map[string]float64{}, rand.New(rand.NewPCG(1, 2))
		for range n {
			kind, err := do(t.Context(), r)
			must(t, err)
			got[kind] += 1000.0 / n
		}
		for kind, share := range test.want {
			if got[kind] < 0.7*float64(share)-2 || got[kind] > 1.3*float64(share)+2 {
				t.Errorf("with %d %% writes %.1f in a thousand are %s, want about %d", test.writes, got[kind], kind, share)
			}
			delete(got, kind)
		}
		if len(got) > 0 {
			t.Errorf("with %d %% writes there are others: %v", test.writes, got)
		}
		must(t, s.close())
	}
}

func TestRun_StopsItsServersWhenItIsStopped(t *testing.T) {
	servers.Need(t, "redis-server")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	file := filepath.Join(t.TempDir(), "results.jsonl")
	args := []string{"-n", "1000", "-peers", "rueidis,bbolt", "-workloads", "W1", "-time", "1m", "-o", file}
	err := run(ctx, args, writerFunc(func(text []byte) {
		if strings.Contains(string(text), "measuring") {
			stop()
		}
	}))
	if err == nil || !strings.HasPrefix(err.Error(), "stopped; ") {
		t.Errorf("want an error that says it was stopped, got %v", err)
	}
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
		t.Errorf("want no data of servers left, got %v, %v", left, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(text []byte) (int, error) {
	f(text)
	return len(text), nil
}

func TestHistogram_QuantilesAreThoseOfASortedList(t *testing.T) {
	var h, other histogram
	var all []time.Duration
	for i := range 10_000 {
		d := time.Duration(rand.ExpFloat64() * 1e6)
		all = append(all, d)
		[]*histogram{&h, &other}[i%2].add(d)
	}
	h.merge(&other)
	slices.Sort(all)
	for _, q := range []float64{0.5, 0.99} {
		want := float64(all[int(q*10_000)]) / 1e3
		if got := h.quantile(q); got > want || got < want*0.98 {
			t.Errorf("quantile %v: want %v or up to 2 %% less, got %v", q, want, got)
		}
	}
}

func TestProxy_HoldsEachReplyAndAllOfAPipelineTogether(t *testing.T) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer server.Close()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		io.Copy(conn, conn)
	}()
	p, err := newProxy(server.Addr().String())
	must(t, err)
	defer p.close()
	conn, err := net.Dial("tcp", p.addr())
	must(t, err)
	defer conn.Close()

	const delay = 100 * time.Millisecond
	p.delay.Store(int64(delay))
	echo := func(requests int) time.Duration {
		start := time.Now()
		for range requests {
			proof.Done(t)(conn.Write([]byte("x")))
		}
		proof.Done(t)(io.ReadFull(conn, make([]byte, requests)))
		return time.Since(start)
	}
	if took := echo(1); took < delay {
		t.Errorf("a reply came after %v, before the delay of %v", took, delay)
	}
	// One by one they would take 10 s.
	if took := echo(100); took < delay || took > 50*delay {
		t.Errorf("replies to 100 requests that were sent at once came after %v", took)
	}
}

var must = proof.Must

const benchSize = 10_000

// For benchstat:
//
//	go test -run - -bench . -count 10 ./compare > new.txt
func BenchmarkStore(b *testing.B) {
	at := place.StartAll(b)
	at.Dir = b.TempDir()
	for _, name := range []string{"ringtree-memory", "ringtree-file", "ringtree-redis", "ringtree-memcached"} {
		k := kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })]
		if place.Missing(k.server) != nil {
			continue
		}
		b.Run(strings.TrimPrefix(name, "ringtree-"), func(b *testing.B) {
			s, err := open(b.Context(), job{Peer: name, Place: at, Size: benchSize, Load: [dataSets]bool{onPages: true, onSite: true}})
			must(b, err)
			defer s.close()
			for _, w := range workloads {
				if s.on[w.on] == nil {
					continue
				}
				b.Run(w.name, func(b *testing.B) { s.bench(b, w) })
			}
		})
	}
}

func (s *subject) bench(b *testing.B, w workload) {
	ctx, cancel := context.WithCancel(b.Context()) // as those of requests
	defer cancel()
	do, err := w.prepare(ctx, s, usualWrites)
	must(b, err)
	r := rand.New(rand.NewPCG(1, 2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := do(ctx, r); err != nil {
			b.Fatal(err)
		}
	}
	// The steps after a reply belong to the work.
	must(b, s.flush(ctx))
}
