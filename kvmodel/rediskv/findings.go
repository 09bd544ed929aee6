package rediskv

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (s *Store) findings(ctx context.Context) (all []kv.Finding) {
	ctx, cancel := context.WithTimeout(ctx, contact.FindingTime)
	defer cancel()
	servers, errs := s.readServers(ctx, (*seen).readAll)
	for _, err := range errs {
		if err != nil {
			all = append(all, kv.Find(kv.Unknown, "a server could not be checked: %v", err))
		}
	}
	for i := range servers {
		if errs[i] == nil {
			all = append(all, s.judge(&servers[i])...)
		}
	}
	return all
}

func (f *seen) readClock(answer any, began time.Time, took time.Duration) {
	list, _ := answer.([]any)
	if len(list) != 2 {
		return
	}
	seconds, err := strconv.ParseInt(fmt.Sprint(list[0]), 10, 64)
	micros, failed := strconv.ParseInt(fmt.Sprint(list[1]), 10, 64)
	if err == nil && failed == nil {
		f.trip = max(took, 1)
		f.clock = time.Unix(seconds, micros*1000).Sub(began.Add(took / 2))
	}
}

func (s *Store) judge(f *seen) (all []kv.Finding) {
	find := func(is kv.Verdict, format string, args ...any) {
		all = append(all, kv.Find(is, f.addr+": "+format, args...))
	}
	f.judgeDisk(find)
	f.judgeMemory(find)
	s.judgeReplicas(f, find)
	if s.opts.TLS == nil && !contact.IsLocal(f.addr) {
		find(kv.Hurts, "it is used over a network without TLS, so anyone there can read and change everything: use rediss:// in the URL")
	}
	if limit, _ := strconv.ParseInt(f.values["maxmemory"], 10, 64); limit > 0 && f.used > 0 {
		all = append(all, contact.FindMemory(f.addr, "maxmemory", f.used, limit))
	}
	if f.trip > 0 {
		all = append(all, contact.FindClock(f.addr, f.clock, f.trip))
	}
	unknown := f.unsaid(examined)
	if f.used == 0 {
		unknown = append(unknown, "INFO memory")
	}
	if f.trip == 0 {
		unknown = append(unknown, "TIME")
	}
	if len(unknown) > 0 {
		find(kv.Unknown, "it refuses %s, so that could not be checked: allow these commands to the user, or check the settings of the server", strings.Join(unknown, ", "))
	}
	return all
}

type finder func(is kv.Verdict, format string, args ...any)

func (f *seen) judgeDisk(find finder) {
	appends, known := f.values["appendonly"]
	saves, says := f.values["save"]
	sync, synced := f.values["appendfsync"]
	switch {
	case !known:
	case appends != "yes" && says && saves == "":
		find(kv.Hurts, "it keeps nothing on disk, so a restart loses everything: set appendonly to yes")
	case appends != "yes" && says:
		find(kv.Hurts, "it keeps only snapshots (save %s), so a crash loses the writes since the last one: set appendonly to yes", saves)
	case appends != "yes":
		find(kv.Hurts, "it keeps snapshots at most, so a crash loses the writes since the last one: set appendonly to yes")
	case !synced:
	case sync == "always":
		find(kv.Fine, "each write is on its disk before it is answered (appendfsync always)")
	case sync == "everysec":
		find(kv.Fine, "writes are on its disk within about a second, which a crash of its machine loses (appendfsync everysec); durable=1 in the URL, with appendfsync always, loses nothing")
	default:
		find(kv.Hurts, "its operating system decides when writes reach the disk, so a crash of the machine may lose half a minute (appendfsync %s): set appendfsync to always or everysec", sync)
	}
}

func (f *seen) judgeMemory(find finder) {
	policy := f.values["maxmemory-policy"]
	limit, limited := f.values["maxmemory"]
	switch {
	case policy == "":
	case policy == "noeviction":
		find(kv.Fine, "it refuses writes when its memory is full, and drops nothing (noeviction)")
	case strings.HasPrefix(policy, "volatile-"):
		find(kv.Hurts, "it drops expiring items early when its memory is full, such as sessions and tombstones (%s): set maxmemory-policy to noeviction", policy)
	default:
		find(kv.Hurts, "it drops items when its memory is full (%s): set maxmemory-policy to noeviction", policy)
	}
	if limited && limit == "0" {
		find(kv.Hurts, "it has no memory limit, so it may be killed when its machine runs out: set maxmemory")
	}
}

func (s *Store) judgeReplicas(f *seen, find finder) {
	switch {
	case f.replicas < 0 || !f.isMaster:
	case f.replicas > 0 && s.opts.WaitReplicas == 0:
		find(kv.Hurts, "no write waits for its replicas, so a failover may lose acknowledged writes: set durable=1 or wait-replicas=1 in the URL")
	case f.replicas < s.opts.WaitReplicas:
		find(kv.Hurts, "%d replicas are connected, and writes wait for %d, so they are not confirmed: connect more, or lower wait-replicas", f.replicas, s.opts.WaitReplicas)
	case f.replicas > 0:
		find(kv.Fine, "writes wait for %d of its %d replicas", s.opts.WaitReplicas, f.replicas)
	case s.cluster || s.sentinels != nil:
		find(kv.Hurts, "it has no connected replica, so its data would be lost with its machine: connect one")
	}
}
