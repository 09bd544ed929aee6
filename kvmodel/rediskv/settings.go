package rediskv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const policyName = "maxmemory-policy"

// wanted are the settings of a server that keeps acknowledged writes.
var wanted = []struct{ name, value, otherwise string }{
	{policyName, "noeviction", "it drops items that are in use when its memory is full"},
	{"appendonly", "yes", "a restart loses what it holds"},
	{"appendfsync", "always", "a crash of its machine loses the last writes"},
}

// durability are the settings that Open reads of each server, examined those for findings.
var (
	durability = []string{policyName, "appendonly", "appendfsync"}
	examined   = []string{"appendonly", "save", "appendfsync", policyName, "maxmemory"}
)

// seen is what a server says of itself.
type seen struct {
	addr     string
	values   map[string]string // of settings, by name
	isMaster bool
	replicas int // connected ones; -1: unknown

	used  int64         // bytes of memory; 0: unknown
	clock time.Duration // the server's clock minus this machine's
	trip  time.Duration // duration of that request; 0: none
}

func (s *Store) readServer(ctx context.Context, addr string, read reader) (found seen, err error) {
	found = seen{addr: addr, values: make(map[string]string), isMaster: true, replicas: -1}
	t, err := s.line.talkTo(ctx, addr, s.opts.Username, s.opts.Password)
	if err != nil {
		return found, err
	}
	defer t.conn.Close()
	return found, read(&found, ctx, t)
}

type reader func(f *seen, ctx context.Context, t *talk) error

func (f *seen) readDurability(ctx context.Context, t *talk) error {
	return f.readSettings(ctx, t, durability)
}

func (f *seen) readAll(ctx context.Context, t *talk) error {
	if err := f.readSettings(ctx, t, examined); err != nil {
		return err
	}
	began := time.Now()
	answer, err := askIfAllowed(ctx, t, "TIME")
	f.readClock(answer, began, time.Since(began))
	return err
}

// readSettings asks for those that INFO does not have.
func (f *seen) readSettings(ctx context.Context, t *talk, names []string) error {
	if err := f.readInfo(ctx, t); err != nil {
		return err
	}
	for _, name := range names {
		if _, known := f.values[name]; known {
			continue
		}
		answer, err := askIfAllowed(ctx, t, "CONFIG", "GET", name)
		if err != nil {
			return err
		}
		if value, there := pairs(answer)[name]; there {
			f.values[name] = value
		}
	}
	return nil
}

func (f *seen) readInfo(ctx context.Context, t *talk) error {
	answer, err := askIfAllowed(ctx, t, "INFO", "replication")
	if err != nil {
		return err
	}
	if text, there := answer.(string); there {
		f.isMaster = !strings.Contains(text, "role:slave")
		f.replicas = strings.Count(text, "state=online")
	}
	answer, err = askIfAllowed(ctx, t, "INFO", "memory")
	text, _ := answer.(string)
	for name, line := range map[string]string{policyName: "maxmemory_policy:", "maxmemory": "maxmemory:"} {
		if value, there := lineOf(text, line); there {
			f.values[name] = value
		}
	}
	used, _ := lineOf(text, "used_memory:")
	f.used, _ = strconv.ParseInt(used, 10, 64)
	return err
}

func lineOf(text, name string) (value string, there bool) {
	_, text, there = strings.Cut(text, name)
	value, _, _ = strings.Cut(text, "\r")
	return value, there
}

// unsaid returns the refused commands that would have told these settings.
func (f *seen) unsaid(settings []string) (commands []string) {
	for _, name := range settings {
		if _, known := f.values[name]; !known {
			commands = append(commands, "CONFIG GET "+name)
		}
	}
	if f.replicas < 0 {
		commands = append(commands, "INFO replication")
	}
	return commands
}

// askIfAllowed returns nil for a command that the server refuses.
func askIfAllowed(ctx context.Context, t *talk, command ...string) (any, error) {
	answer, err := t.ask(ctx, command...)
	if err != nil && !isBroken(err) {
		return nil, nil
	}
	return answer, err
}

func (s *Store) addresses(ctx context.Context) ([]string, error) {
	switch {
	case s.sentinels != nil:
		return s.sentinels.servers(ctx)
	case s.cluster:
		var all []string
		for addr := range s.client.Nodes() {
			all = append(all, addr)
		}
		slices.Sort(all)
		return all, nil
	}
	return s.opts.Addrs, nil
}

func (s *Store) readServers(ctx context.Context, read reader) (all []seen, errs []error) {
	addrs, err := s.addresses(ctx)
	if err != nil {
		return nil, []error{err}
	}
	all, errs = make([]seen, len(addrs)), make([]error, len(addrs))
	var wait sync.WaitGroup
	for i, addr := range addrs {
		wait.Go(func() {
			if all[i], errs[i] = s.readServer(ctx, addr, read); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", addr, errs[i])
			}
		})
	}
	wait.Wait()
	return all, errs
}

// makeDurable makes trips wait for a replica if there are any. The error names each server that
// would lose acknowledged writes.
func (s *Store) makeDurable(ctx context.Context) error {
	all, failed := s.readServers(ctx, (*seen).readDurability)
	if err := kv.Join(failed...); err != nil {
		return fmt.Errorf("durable: cannot read the settings of the servers: %w", err)
	}
	var errs []error
	for _, found := range all {
		errs = append(errs, found.faults()...)
		if found.isMaster {
			errs = append(errs, s.waitFor(found))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("durable: %w", err)
	}
	for _, found := range all {
		if refused := found.unsaid(durability); len(refused) > 0 {
			s.opts.Log.Warn("ringtree: durable=1 could not be checked: the server does not report its settings",
				"server", found.addr, "refused", refused)
		}
	}
	return nil
}

func (f *seen) faults() (errs []error) {
	for _, w := range wanted {
		if value, known := f.values[w.name]; known && value != w.value {
			errs = append(errs, fmt.Errorf("%s of %s is %s, so %s: set it to %s", w.name, f.addr, value, w.otherwise, w.value))
		}
	}
	return errs
}

// waitFor makes trips wait for a replica, if the master has one. With failover, it must have one.
func (s *Store) waitFor(master seen) error {
	takesOver := s.cluster || s.sentinels != nil
	switch {
	case master.replicas < 0 && s.opts.WaitReplicas == 0:
		return fmt.Errorf("%s refuses INFO, so its number of replicas is unknown: set wait-replicas", master.addr)
	case master.replicas < 0:
		return nil
	case master.replicas == 0 && takesOver:
		return fmt.Errorf("%s has no connected replica, so its data would be lost with it: connect one", master.addr)
	case master.replicas < s.opts.WaitReplicas:
		return fmt.Errorf("%s has %d connected replicas, but wait-replicas is %d", master.addr, master.replicas, s.opts.WaitReplicas)
	case master.replicas > 0:
		s.opts.WaitReplicas = max(s.opts.WaitReplicas, 1)
	}
	return nil
}

const settingsTime = time.Second

// checkSettings returns an error that names the servers that evict items, and logs other risks.
func (s *Store) checkSettings(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settingsTime)
	defer cancel()
	all, _ := s.readServers(ctx, (*seen).readDurability)
	var evict, unsaid, unwaited []string
	for _, found := range all {
		switch policy := found.values[policyName]; policy {
		case "noeviction":
		case "":
			unsaid = append(unsaid, found.addr)
		default:
			evict = append(evict, fmt.Sprintf("%s of %s is %s", policyName, found.addr, policy))
		}
		if found.isMaster && found.replicas > 0 && s.opts.WaitReplicas == 0 {
			unwaited = append(unwaited, found.addr)
		}
	}
	if len(evict) > 0 && !s.opts.Volatile {
		return fmt.Errorf("%s, which drops items when the memory is full and breaks indexes: set it to noeviction, or volatile=on in the URL for data that may be lost at any time", strings.Join(evict, ", "))
	}
	if len(unsaid) > 0 && !s.opts.Volatile {
		s.opts.Log.Warn("ringtree: cannot tell whether servers drop items when their memory is full: make sure maxmemory-policy is noeviction", "servers", unsaid)
	}
	if len(unwaited) > 0 {
		s.opts.Log.Warn("ringtree: a failover may lose acknowledged writes, because none waits for a replica: set durable=1 or wait-replicas", "servers", unwaited)
	}
	return nil
}

// A user may be limited to some commands, and a server may have renamed some. Open queues each
// needed command in a transaction, where the server checks it, and never executes that.

// checkCommands returns an error that names the needed commands that the server refuses. A user
// without write permission counts as read-only.
func (s *Store) checkCommands(ctx context.Context) error {
	addrs, err := s.addresses(ctx)
	for _, addr := range addrs {
		if err := s.checkCommandsOf(ctx, addr); !isBroken(err) {
			return err
		}
	}
	if err != nil {
		s.opts.Log.Debug("ringtree: could not check which commands the servers refuse", "err", err)
	}
	return nil
}

func (s *Store) checkCommandsOf(ctx context.Context, addr string) error {
	t, err := s.line.talkTo(ctx, addr, s.opts.Username, s.opts.Password)
	if err != nil {
		return err
	}
	defer t.conn.Close()
	_, err = t.ask(ctx, "MULTI")
	switch {
	case err == nil:
		return s.checkQueued(ctx, t)
	case isRefused(err) && !s.cluster:
		return refusing([]string{"MULTI"}, err)
	case isBroken(err):
		return err
	}
	return nil // The server cannot tell. On a cluster the store does not need it.
}

func (s *Store) checkQueued(ctx context.Context, t *talk) error {
	var refused []string
	var why error
	for _, command := range append(s.needed(), []string{"DISCARD"}, []string{"EXEC"}) {
		_, err := t.ask(ctx, command...)
		if isBroken(err) {
			return err
		}
		if isRefused(err) {
			refused, why = append(refused, command[0]), cmp.Or(why, err)
		}
	}
	if slices.Contains(refused, "SET") && !slices.Contains(refused, "GET") {
		s.opts.Log.Warn("ringtree: the server refuses SET, so nothing can be written", "server", s.where, "err", why)
		return nil
	}
	return refusing(refused, why)
}

func (s *Store) needed() [][]string {
	all := [][]string{
		{"SET", bootKey, "", "NX"},
		{"GET", bootKey},
		{"MGET", bootKey},
		{"DEL", bootKey},
		{"EVALSHA", s.script.sha, "1", bootKey},
		{"EVAL", "return 0", "1", bootKey},
		// Called by the script.
		{"EXISTS", bootKey},
		{"STRLEN", bootKey},
		{"GETRANGE", bootKey, "0", "0"},
		{"SETRANGE", bootKey, "0", ""},
		{"APPEND", bootKey, ""},
	}
	if s.opts.WaitReplicas > 0 {
		all = append(all, []string{"WAIT", "0", "0"})
	}
	return all
}

func refusing(refused []string, why error) error {
	if len(refused) == 0 {
		return nil
	}
	hint := ""
	if strings.Contains(why.Error(), " key") {
		hint = "; besides its own keys a user needs ringtree{*}"
	}
	return fmt.Errorf("the server refuses %s, which the store needs: %w%s", strings.Join(refused, ", "), why, hint)
}

func isBroken(err error) bool {
	no := refusal("")
	return err != nil && !errors.As(err, &no)
}

// isRefused reports whether the server will always refuse the command.
func isRefused(err error) bool {
	no := refusal("")
	_ = errors.As(err, &no)
	// EXEC reports EXECABORT first, and then the reason.
	return slices.ContainsFunc([]string{"NOPERM", "unknown command", "not allowed"}, func(why string) bool {
		return strings.Contains(string(no), why)
	})
}
