package main

import (
	"bytes"
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

	"github.com/ringtree/ringtree/bench/compare/peers"
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
	args := []string{"-n", "1000", "-peers", "bbolt-relaxed,ringtree-memory", "-workloads", "W2,W2next,W2raw,W9", "-clients", "1,2", "-rounds", "2", "-time", "2ms", "-o", file}
	if err := run(t.Context(), args, io.Discard); err != nil {
		t.Fatal(err)
	}
	at, results, err := readLines(file)
	if err != nil || at == nil || at.Versions["go.etcd.io/bbolt"] == "" {
		t.Errorf("want the versions of the peers, got %v, %v", at, err)
	}
	var got []string
	for _, r := range results {
		if r.Rounds != 2 || r.Error != "" || r.P50.Median <= 0 || r.P50.Min > r.P50.Median || r.P50.Median > r.P50.Max || r.Ops.Min <= 0 || r.Allocs <= 0 {
			t.Errorf("not what a result is: %+v", r)
		}
		got = append(got, fmt.Sprint(r.Workload, " ", r.Peer, " ", r.Clients))
	}
	// W2next is for peers that have no cursors, and W2raw for those that have a layer.
	want := []string{
		"W2 bbolt-relaxed 1", "W2 ringtree-memory 1", "W2 bbolt-relaxed 2", "W2 ringtree-memory 2",
		"W2raw ringtree-memory 1", "W2raw ringtree-memory 2",
		"W9 bbolt-relaxed 1", "W9 ringtree-memory 1", "W9 bbolt-relaxed 2", "W9 ringtree-memory 2",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results mismatch (-want +got):\n%s", diff)
	}
}

func TestRun_BadArgumentsAreNamed(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"W1"}, `unexpected argument "W1"`},
		{[]string{"-peers", "mysql"}, `there is no "mysql"; there are: gorm-postgres, `},
		{[]string{"-workloads", "W10"}, `there is no "W10"; there are: W1, `},
		{[]string{"-clients", "0"}, "-clients 0: want numbers from 1 to 32"},
		{[]string{"-n", "10"}, "want -n of at least 1000"},
		{[]string{"-peers", "gorm-sqlite"}, "build with -tags mattn"},
		{[]string{"-from", "nothing.jsonl"}, "nothing.jsonl"},
	} {
		if err := run(t.Context(), test.args, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: want an error that says %q, got %v", test.args, test.want, err)
		}
	}
}

func TestRun_NamesAllServersThatAreMissing(t *testing.T) {
	t.Setenv("PATH", "")
	err := run(t.Context(), []string{"-peers", "rueidis,ringtree-memcached"}, io.Discard)
	want := "redis-server is not installed: run scripts/setup.sh redis-server\nmemcached is not installed: run scripts/setup.sh memcached"
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

func TestRun_StopsItsServersWhenItIsStopped(t *testing.T) {
	servers.Need(t, "redis-server")
	t.Setenv("TMPDIR", t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	file := filepath.Join(t.TempDir(), "results.jsonl")
	args := []string{"-n", "1000", "-peers", "rueidis,bbolt-relaxed", "-workloads", "W1", "-time", "1m", "-o", file}
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

// measured returns a result whose median p50 is given.
func measured(peer, workload string, pages int, p50 float64) result {
	return result{Peer: peer, Workload: workload, Pages: pages, Clients: 1, Rounds: 3, P50: spread{p50, p50 - 1, p50 + 1}, Allocs: 10.9}
}

func TestGate_PrintsGoalsWithValuesAndNamesThoseLeftOut(t *testing.T) {
	results := []result{
		measured(gormPostgres, "W1", 20_000, 90), measured(onRedis, "W1", 20_000, 30), measured(onRedis, "W1raw", 20_000, 20),
		measured(gormPostgres, "W6", 20_000, 900), measured(onRedis, "W6", 20_000, 30),
		measured(gormPostgres, "W6", 100_000, 900), measured(onRedis, "W6", 100_000, 30),
	}
	again := measured("pgx", "W1", 100_000, 90)
	again.run = 2
	results = append(results, again, measured(onRedis, "W1", 100_000, 30))
	var out bytes.Buffer
	if err := printGate(&out, results); err == nil || err.Error() != "2 of 5 goals are short" {
		t.Errorf("want an error that counts what is short, got %v", err)
	}
	for _, want := range []string{
		"\n20000 pages\n",
		"\nW1 ringtree-redis, 1 client: p50, times as fast as gorm-postgres                   3.00x  >= 3x    ok\n",
		"\nW1 ringtree-redis, 1 client: p50, part above W1raw                                50.00%  <= 15%   SHORT\n",
		"\nW1 ringtree-redis, 1 client: allocations                                          10.00   <= 10    ok\n",
		"\nleft out, needs 100000 pages: W6 ringtree-redis, 1 client: p50, times as fast as gorm-postgres >= 90x\n",
		"\nleft out, not measured: W9 ringtree-bolt, 1 client: allocations <= 90\n",
		"\n100000 pages\n",
		"\nleft out, not measured in one run: W1 ringtree-redis, 1 client: p50, times as fast as pgx >= 1.5x\n",
		"\nW6 ringtree-redis, 1 client: p50, times as fast as gorm-postgres                  30.00x  >= 90x   SHORT\n",
		"\nleft out, needs 1000000 pages: W6 ringtree-redis, 1 client: p50, times as fast as gorm-postgres >= 400x\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in:\n%s", want, &out)
		}
	}
}

func TestGoals_AreAboutWhatThereIs(t *testing.T) {
	kinds, works := namesOf(peers.All, kindName), namesOf(workloads, workloadName)
	for _, g := range append(goals(), neverSlower()...) {
		own, isOwn := strings.CutPrefix(g.against, ".")
		if !slices.Contains(kinds, g.ours) || g.against != "" && !isOwn && !slices.Contains(kinds, g.against) {
			t.Errorf("%s: there is no such peer", g)
		}
		if !slices.Contains(works, g.workload) || isOwn && !slices.Contains(works, own) {
			t.Errorf("%s: there is no such workload", g)
		}
	}
}

func TestGate_WithAnRTTNothingMayBeSlowerThanGORM(t *testing.T) {
	ours, theirs := measured(onMemcached, "W7r", 20_000, 101), measured(gormPostgres, "W7r", 20_000, 100)
	ours.RTT, theirs.RTT = 500, 500
	var out bytes.Buffer
	printGate(&out, []result{ours, theirs})
	want := "\n20000 pages, 500 us away\nW7r ringtree-memcached, 1 client: p50, times as fast as gorm-postgres              0.99x  >= 1x    SHORT\n"
	if !strings.HasPrefix(out.String(), want) || strings.Contains(out.String(), "pgx") {
		t.Errorf("want a goal of 1x and no others, got:\n%s", &out)
	}
}

func TestReport_HasANumberOnlyWhereOneWasMeasured(t *testing.T) {
	var drawn []string
	draw := func(name, svg string) (string, error) {
		if !strings.HasPrefix(svg, "<svg ") || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s is no picture:\n%s", name, svg)
		}
		drawn = append(drawn, name)
		return name, nil
	}
	text, err := report(nil, nil, draw)
	if err != nil || len(drawn) > 0 || !strings.Contains(text, "None have been kept yet") {
		t.Errorf("want a page without results, got %v, %v:\n%s", drawn, err, text)
	}
	results := []result{measured("pgx", "W1", 1000, 50), measured("pgx", "W1", 10_000, 60), measured(onRedis, "W1", 1000, 30)}
	text, err = report(&machine{CPU: "A CPU"}, results, draw)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"p50-1000-0.svg", "p50-10000-0.svg", "growth.svg"}, drawn); diff != "" {
		t.Errorf("charts mismatch (-want +got):\n%s", diff)
	}
	for _, want := range []string{"A CPU", "## 1000 pages", "| pgx | nothing: synced at each write | 50 (49-51) | - |", "| ringtree-redis | everything: in memory | 30 (29-31) | - |", "## Growth"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in:\n%s", want, text)
		}
	}
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
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		io.Copy(conn, conn)
	}()
	p, err := newProxy(server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	conn, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	const delay = 100 * time.Millisecond
	p.delay.Store(int64(delay))
	echo := func(requests int) time.Duration {
		start := time.Now()
		for range requests {
			if _, err := conn.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(conn, make([]byte, requests)); err != nil {
			t.Fatal(err)
		}
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
