package rediskv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
