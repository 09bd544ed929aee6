package rediskv

import (
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
