package kv

import (
	"context"
	"fmt"
	"strings"
)

// Prefix returns a store whose keys all live under tenant in s, apart from those of other tenants.
// Take the tenant from the session or the configuration, never from the request. The error is an
// ErrBadKey if the escaped tenant is empty or longer than MaxTenant.
func Prefix(s Store, tenant string) (Store, error) {
	text := JoinText(tenant)
	if text == "" || len(text) > MaxTenant {
		return nil, fmt.Errorf("tenant %s: %w: 1 to %d bytes when escaped", Quote(tenant), ErrBadKey, MaxTenant)
	}
	return newPrefixed(s, text+":"), nil
}

type prefixed struct {
	Store
	prefix string
	powers Powers
}

func newPrefixed(s Store, prefix string) *prefixed {
	powers := PowersOf(s)
	powers.Prefix += prefix
	if atomic := powers.Atomic; atomic != nil {
		powers.Atomic = func(ctx context.Context, f func(Store) error) error {
			return atomic(ctx, func(s Store) error { return f(newPrefixed(s, prefix)) })
		}
	}
	if keys := powers.Keys; keys != nil {
		powers.Keys = func(ctx context.Context, begin string, f func([]string) error) error {
			return keys(ctx, prefix+begin, without(prefix, f))
		}
	}
	if walk := powers.Walk; walk != nil {
		powers.Walk = func(ctx context.Context, begin, after string, f func([]string) error) error {
			return walk(ctx, prefix+begin, prefix+after, without(prefix, f))
		}
	}
	if powers.Losses != nil {
		powers.Losses = prefixedLosses{powers.Losses, prefix}
	}
	return &prefixed{s, prefix, powers}
}

func without(prefix string, f func([]string) error) func([]string) error {
	return func(keys []string) error {
		own := make([]string, len(keys))
		for i, key := range keys {
			own[i] = key[len(prefix):]
		}
		return f(own)
	}
}

func (p *prefixed) Powers() Powers { return p.powers }

type prefixedLosses struct {
	Losses
	prefix string
}

func (l prefixedLosses) GoneBack(ctx context.Context, key string) error {
	return l.Losses.GoneBack(ctx, l.prefix+key)
}

// Do prefixes the keys of ops during the call.
func (p *prefixed) Do(ctx context.Context, ops []Op) error {
	var keys strings.Builder // shared by all keys
	size := 0
	for i := range ops {
		size += len(p.prefix) + len(ops[i].Key)
	}
	keys.Grow(size)
	for i := range ops {
		// An empty key must stay a bad key.
		if op := &ops[i]; op.Key != "" {
			begin := keys.Len()
			keys.WriteString(p.prefix)
			keys.WriteString(op.Key)
			op.Key = keys.String()[begin:]
		}
	}
	err := p.Store.Do(ctx, ops)
	for i := range ops {
		if op := &ops[i]; op.Key != "" {
			op.Key = op.Key[len(p.prefix):]
		}
	}
	return err
}

// ReadOnly returns a store that reads from s and refuses every write with refusal, which should be
// both an ErrUnavailable and an ErrReadOnly.
func ReadOnly(s Store, refusal error) Store { return readOnly{s, refusal} }

type readOnly struct {
	Store
	refusal error
}

// Powers has no transactions. Losses can be seen but not accepted.
func (r readOnly) Powers() Powers {
	p := PowersOf(r.Store)
	p.Atomic, p.ReadOnly = nil, r.refusal
	if p.Losses != nil {
		p.Losses = unaccepted{p.Losses, r.refusal}
	}
	return p
}

type unaccepted struct {
	Losses
	refusal error
}

func (u unaccepted) Accept(context.Context) ([]string, error) { return nil, u.refusal }
func (u unaccepted) Renew(context.Context) error              { return u.refusal }
func (u unaccepted) GoneBack(context.Context, string) error   { return u.refusal }

func (r readOnly) Do(ctx context.Context, ops []Op) error {
	writes := false
	for i := range ops {
		if ops[i].Kind.Writes() {
			ops[i].Result, writes = Result{Err: r.refusal}, true
		}
	}
	if !writes {
		return r.Store.Do(ctx, ops)
	}
	return doSome(ctx, r.Store, ops, func(op *Op) bool { return !op.Kind.Writes() })
}
