package rediskv

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type said struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *said) log() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

// wantOpen wants an error that says all of want, or a store if want is empty.
func wantOpen(t testing.TB, opts Options, want ...string) *Store {
	t.Helper()
	s, err := Open(within(t, time.Minute), opts)
	if len(want) == 0 {
		must(t, err)
		t.Cleanup(func() { s.Close() })
		return s
	}
	if err == nil {
		s.Close()
		t.Fatalf("want an error that says %q, got a store", want)
	}
	wantText(t, err.Error(), want...)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows a password: %v", err)
	}
	return nil
}

// replicaOf starts a replica of the server and returns when it has confirmed a write.
func replicaOf(t testing.TB, master *servers.Process, args ...string) *servers.Process {
	t.Helper()
	host, port, _ := net.SplitHostPort(master.Addr)
	replica := ownServer(t, append([]string{"--replicaof", host + " " + port}, args...)...)
	ctx, talk := within(t, time.Minute), talkTo(t, master.Addr, "")
	for confirmed := any(int64(0)); confirmed != any(int64(1)); {
		_, err := talk.ask(ctx, "SET", "confirmed", "")
		must(t, err)
		confirmed, err = talk.ask(ctx, "WAIT", "1", "100")
		must(t, err)
	}
	return replica
}

var keeps = []string{"--appendonly", "yes", "--appendfsync", "always", "--repl-diskless-sync-delay", "0"}

func TestOpen_DurableNamesTheSettingsThatLoseData(t *testing.T) {
	p := ownServer(t, "--requirepass", "secret", "--maxmemory-policy", "allkeys-lru")
	wantOpen(t, Options{Addrs: []string{p.Addr}, Password: "secret", Durable: true},
		"maxmemory-policy of "+p.Addr+" is allkeys-lru, so it drops items that are in use when its memory is full: set it to noeviction",
		"appendonly of "+p.Addr+" is no, so a restart loses what it holds: set it to yes",
		"appendfsync of "+p.Addr+" is everysec, so a crash of its machine loses the last writes: set it to always")
	_, err := talkTo(t, p.Addr, "secret").ask(t.Context(),
		"CONFIG", "SET", "maxmemory-policy", "noeviction", "appendonly", "yes", "appendfsync", "always")
	must(t, err)
	s := wantOpen(t, Options{Addrs: []string{p.Addr}, Password: "secret", Durable: true})
	proof.Equal(t, s.opts.WaitReplicas, 0, "without replicas: it waits for")
	mustDo(t, s, kv.OpSet("k", nil))
}

func TestOpen_DurableWaitsForAReplicaWhereThereIsOne(t *testing.T) {
	p := ownServer(t, keeps...)
	replica := replicaOf(t, p)
	durable := Options{Addrs: []string{p.Addr}, Durable: true, WaitTimeout: 200 * time.Millisecond}
	s := wantOpen(t, durable)
	eventually(t, "a write is confirmed", func() bool { return do(t, s, kv.OpSet("k", []byte("1"))).Err == nil })
	if text, _ := raw(t, replica.Addr, "GET", "k").ToString(); !strings.HasSuffix(text, "1") {
		t.Errorf("the replica has %q when the write is acknowledged, want 1", text)
	}
	two := durable
	two.WaitReplicas = 2
	wantOpen(t, two, p.Addr, "wait-replicas is 2")
	replica.Kill()
	wantErr(t, do(t, s, kv.OpSet("k", []byte("2"))).Err, kv.ErrUnclear, errUnconfirmed)
}

func TestOpen_DurableClusterIsCheckedNodeByNode(t *testing.T) {
	var want []string
	for _, addr := range clusterAddrs(t) {
		want = append(want, "appendonly of "+addr+" is no", "appendfsync of "+addr+" is everysec")
	}
	wantOpen(t, Options{Addrs: clusterAddrs(t)[:1], Durable: true}, want...)
}

func TestOpen_DurableSaysWhatTheServerDoesNotSay(t *testing.T) {
	p := ownServer(t, keeps...)
	raw(t, p.Addr, "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-config")
	raw(t, p.Addr, "ACL", "SETUSER", "mute", "on", ">secret", "~*", "+@all", "-config", "-info")
	log := new(said)
	opts := Options{Addrs: []string{p.Addr}, Username: "app", Password: "secret", Durable: true, Log: log.log()}
	wantOpen(t, opts)
	wantText(t, log.String(), "durable=1 could not be checked", p.Addr, "CONFIG GET appendonly", "CONFIG GET appendfsync")
	opts.Username = "mute"
	wantOpen(t, opts, p.Addr+" refuses INFO", "set wait-replicas")
	opts.WaitReplicas = 1
	if s := wantOpen(t, opts); s.opts.WaitReplicas != 1 {
		t.Errorf("it waits for %d, want 1", s.opts.WaitReplicas)
	}
	wantText(t, log.String(), "INFO replication")
}

func TestOpen_WarnsOfServersThatLoseData(t *testing.T) {
	p := ownServer(t, "--repl-diskless-sync-delay", "0")
	log := new(said)
	open := func(wait int) string {
		log.text.Reset()
		wantOpen(t, Options{Addrs: []string{p.Addr}, WaitReplicas: wait, Log: log.log()}).Close()
		return log.String()
	}
	proof.Equal(t, open(0), "", "of a server alone that drops nothing")
	replicaOf(t, p)
	wantText(t, open(0), "level=WARN", "none waits for a replica: set durable=1", p.Addr)
	proof.Equal(t, open(1), "", "with wait-replicas=1")
}

func TestOpen_RefusesAServerThatDropsItems(t *testing.T) {
	p := ownServer(t)
	raw(t, p.Addr, "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-config")
	raw(t, p.Addr, "ACL", "SETUSER", "mute", "on", ">secret", "~*", "+@all", "-config", "-info")
	log := new(said)
	as := func(user string) Options {
		return Options{Addrs: []string{p.Addr}, Username: user, Password: "secret", Log: log.log()}
	}
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		raw(t, p.Addr, "CONFIG", "SET", "maxmemory-policy", policy)
		wants := []string{"maxmemory-policy of " + p.Addr + " is " + policy, "set it to noeviction, or volatile=on in the URL"}
		wantOpen(t, Options{Addrs: []string{p.Addr}, Log: log.log()}, wants...)
		wantOpen(t, as("app"), wants...) // INFO says it.
		volatile := as("app")
		volatile.Volatile = true
		wantOpen(t, volatile)
	}
	if log.String() != "" {
		t.Errorf("before a server that does not say: the log is %q", log)
	}
	wantOpen(t, as("mute"))
	wantText(t, log.String(), "level=WARN", "cannot tell whether servers drop items", p.Addr)
}

// The replica that takes over was cut off some time before the master dies.
func TestOpen_DurableLosesNothingThatWasAcknowledged(t *testing.T) {
	for _, durable := range []bool{false, true} {
		master := ownServer(t, keeps...)
		replica := replicaOf(t, master)
		s := wantOpen(t, Options{Addrs: []string{master.Addr}, Durable: durable, WaitTimeout: 300 * time.Millisecond, Log: new(said).log()})
		acknowledged := writeAround(s, func() { order(t, replica.Addr, "REPLICAOF", "NO", "ONE") })
		master.Kill()
		left, err := raw(t, replica.Addr, append([]string{"EXISTS"}, acknowledged...)...).AsInt64()
		must(t, err)
		lost := len(acknowledged) - int(left)
		t.Logf("durable %v: %d of %d acknowledged writes are lost", durable, lost, len(acknowledged))
		if durable && lost > 0 {
			t.Errorf("durable: %d of %d acknowledged writes are lost", lost, len(acknowledged))
		}
		if !durable && lost == 0 {
			t.Error("not durable: nothing was lost, so this shows nothing")
		}
	}
}

// writeAround has 8 writers write, calls event after 300 writes, and returns the acknowledged keys.
func writeAround(s kv.Store, event func()) (acknowledged []string) {
	const before, after = 300, 5
	var mu sync.Mutex
	var once sync.Once
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			for n, left := 0, after; left > 0; n++ {
				key := fmt.Sprintf("w:%d:%d", w, n)
				_, err := kv.One(context.Background(), s, kv.OpSet(key, nil))
				mu.Lock()
				if err == nil {
					acknowledged = append(acknowledged, key)
				}
				enough := len(acknowledged) >= before
				mu.Unlock()
				if enough {
					once.Do(event)
					left--
				}
			}
		})
	}
	wait.Wait()
	return acknowledged
}

func TestOpen_NamesTheCommandsThatTheServerRefuses(t *testing.T) {
	p := ownServer(t)
	user := func(name string, rules ...string) Options {
		raw(t, p.Addr, append([]string{"ACL", "SETUSER", name, "on", ">secret"}, rules...)...)
		return Options{Addrs: []string{p.Addr}, Username: name, Password: "secret"}
	}
	wantOpen(t, user("unscripted", "~*", "+@all", "-@scripting"), "the server refuses EVALSHA, EVAL, which the store needs: NOPERM")
	wantOpen(t, user("untransacted", "~*", "+@all", "-multi"), "the server refuses MULTI, which the store needs: NOPERM")
	wantOpen(t, user("unfinished", "~*", "+@all", "-exec", "-setrange"), "the server refuses SETRANGE, EXEC, which the store needs: NOPERM")
	wantOpen(t, user("elsewhere", "~app:*", "+@all"), "the server refuses SET, GET, MGET, ", "; besides its own keys a user needs ringtree{*}")

	few := strings.Fields("~app:* ~ringtree{*} -@all +multi +exec +discard +set +get +mget +del +eval +evalsha +exists +strlen +getrange +setrange +append +hello +ping")
	s := wantOpen(t, user("sparing", few...))
	mustDo(t, s, kv.OpSet("app:k", []byte("1")))
	mustDo(t, s, kv.OpAppend("app:k", []byte("2")))
	mustDo(t, s, kv.OpIncrement("app:k", 1))
}

func TestOpen_RenamedCommandIsNamed(t *testing.T) {
	wantOpen(t, Options{Addrs: []string{ownServer(t, "--rename-command", "EVAL", "").Addr}},
		"the server refuses EVAL, which the store needs: ERR unknown command 'EVAL'")
}

func TestOpen_LeavesNothingAtTheServer(t *testing.T) {
	p := ownServer(t)
	openAt(t, p.Addr)
	if n, err := raw(t, p.Addr, "DBSIZE").AsInt64(); n != 0 || err != nil {
		t.Errorf("want no keys, got %d, %v", n, err)
	}
}

func TestOpen_UserWhoOnlyReadsMayDoSo(t *testing.T) {
	p := ownServer(t)
	writer := openAt(t, p.Addr)
	mustDo(t, writer, kv.OpSet("k", []byte("v")))
	raw(t, p.Addr, "ACL", "SETUSER", "reader", "on", ">secret", "~*", "+@read", "+@connection", "+@transaction")
	log := new(said)
	s := wantOpen(t, Options{Addrs: []string{p.Addr}, Username: "reader", Password: "secret", Log: log.log()})
	wantValue(t, s, "k", "v")
	wantErr(t, do(t, s, kv.OpSet("k", nil)).Err, kv.ErrUnavailable)
	wantText(t, log.String(), "the server refuses SET, so nothing can be written")
}

func TestOpen_NodeThatRefusesACommandIsNamed(t *testing.T) {
	for _, addr := range clusterAddrs(t) {
		raw(t, addr, "ACL", "SETUSER", "unscripted", "on", ">secret", "~*", "+@all", "-eval")
		raw(t, addr, "ACL", "SETUSER", "untransacted", "on", ">secret", "~*", "+@all", "-multi")
	}
	wantOpen(t, Options{Addrs: clusterAddrs(t), Username: "unscripted", Password: "secret"}, "the server refuses EVAL, which the store needs: NOPERM")
	s := wantOpen(t, Options{Addrs: clusterAddrs(t), Username: "untransacted", Password: "secret"})
	mustDo(t, s, kv.OpSet("without:a:transaction", nil))
}

func told(t testing.TB, s *Store) string {
	t.Helper()
	var all strings.Builder
	for _, f := range kv.PowersOf(s).Findings(within(t, time.Minute)) {
		all.WriteString(string(f.Is) + " " + f.Text + "\n")
	}
	return all.String()
}

func TestFindings_SayWhatASettingDoesAndWhatToDo(t *testing.T) {
	p := ownServer(t, "--repl-diskless-sync-delay", "0")
	s := wantOpen(t, Options{Addrs: []string{p.Addr}, Log: new(said).log()})
	set := func(name, value string) { raw(t, p.Addr, "CONFIG", "SET", name, value) }
	for _, test := range []struct {
		name, value, want string
	}{
		{"save", "", "warning " + p.Addr + ": it keeps nothing on disk, so a restart loses everything: set appendonly to yes"},
		{"save", "3600 1", "it keeps only snapshots (save 3600 1), so a crash loses"},
		{"appendonly", "yes", "ok " + p.Addr + ": writes are on its disk within about a second"},
		{"appendfsync", "always", "ok " + p.Addr + ": each write is on its disk before it is answered"},
		{"appendfsync", "no", "warning " + p.Addr + ": its operating system decides when writes reach the disk"},
		{"maxmemory-policy", "noeviction", "ok " + p.Addr + ": it refuses writes when its memory is full"},
		{"maxmemory-policy", "volatile-ttl", "warning " + p.Addr + ": it drops expiring items early when its memory is full, such as sessions"},
		{"maxmemory-policy", "allkeys-lru", "warning " + p.Addr + ": it drops items when its memory is full (allkeys-lru): set maxmemory-policy to noeviction"},
		{"maxmemory", "0", "warning " + p.Addr + ": it has no memory limit"},
		{"maxmemory", "100gb", "ok " + p.Addr + ": 0 % of its memory is used"},
	} {
		set(test.name, test.value)
		wantText(t, told(t, s), test.want)
	}
	got := told(t, s)
	wantText(t, got, "ok "+p.Addr+": its clock is that of this machine")
	for _, not := range []string{"unknown", "TLS", "replica"} {
		if strings.Contains(got, not) {
			t.Errorf("of a server alone on this machine it says %q:\n%s", not, got)
		}
	}
	replicaOf(t, p)
	wantText(t, told(t, s), "warning "+p.Addr+": no write waits for its replicas")
	waits := wantOpen(t, Options{Addrs: []string{p.Addr}, WaitReplicas: 1, Volatile: true, Log: new(said).log()})
	wantText(t, told(t, waits), "ok "+p.Addr+": writes wait for 1 of its 1 replicas")
	waits.opts.WaitReplicas = 2
	wantText(t, told(t, waits), "warning "+p.Addr+": 1 replicas are connected, and writes wait for 2")
}

func TestFindings_WhatAServerDoesNotSayIsNotFine(t *testing.T) {
	p := ownServer(t)
	raw(t, p.Addr, "ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-config", "-info", "-time")
	s := wantOpen(t, Options{Addrs: []string{p.Addr}, Username: "app", Password: "secret", Log: new(said).log()})
	want := "unknown " + p.Addr + ": it refuses CONFIG GET appendonly, CONFIG GET save, CONFIG GET appendfsync, CONFIG GET maxmemory-policy, CONFIG GET maxmemory, " +
		"INFO replication, INFO memory, TIME, so that could not be checked: allow these commands to the user, or check the settings of the server\n"
	if got := told(t, s); got != want {
		t.Errorf("want\n%sgot\n%s", want, got)
	}
	p.Kill()
	got := told(t, s)
	if !strings.HasPrefix(got, "unknown a server could not be checked: "+p.Addr) || strings.Contains(got, "ok ") {
		t.Errorf("of a server that is down:\n%s", got)
	}
}

func TestFindings_ANodeOfAClusterWithoutAReplicaAndANetworkWithoutTLSHurt(t *testing.T) {
	cluster := &Store{cluster: true}
	var all []string
	for _, f := range cluster.judge(&seen{addr: "10.0.0.7:6379", isMaster: true}) {
		all = append(all, string(f.Is)+" "+f.Text)
	}
	wantText(t, strings.Join(all, "\n"), "warning 10.0.0.7:6379: it has no connected replica", "warning 10.0.0.7:6379: it is used over a network without TLS")
}

func TestFindings_TheClockIsReadFromTheMiddleOfTheTrip(t *testing.T) {
	began := time.Unix(1000, 0)
	var f seen
	f.readClock([]any{"1010", "500000"}, began, time.Second)
	if f.clock != 10*time.Second || f.trip != time.Second {
		t.Errorf("the clock is %v ahead, to %v; want 10s, to 1s", f.clock, f.trip)
	}
	for _, answer := range []any{nil, "1010", []any{"1010"}, []any{"x", "y"}} {
		f = seen{}
		if f.readClock(answer, began, time.Second); f.trip != 0 {
			t.Errorf("%v is taken for a time", answer)
		}
	}
}
