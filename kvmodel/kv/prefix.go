package kv

import (
	"context"
	"fmt"
)

// Prefix returns a store whose keys all live under tenant in s, apart from
// those of every other tenant. Take the tenant from the session or the
// configuration, never from the request. It returns an ErrBadKey if the
// escaped tenant is empty or longer than MaxTenant.
func Prefix(s Store, tenant string) (Store, error) {
	text := JoinText(tenant)
	if text == "" || len(text) > MaxTenant {
		return nil, fmt.Errorf("tenant %s: %w: 1 to %d bytes when escaped", Quote(tenant), ErrBadKey, MaxTenant)
	}
	return &prefixed{s, text + ":"}, nil
}

type prefixed struct {
	Store
	prefix string
}

func (p *prefixed) Powers() Powers {
	powers := PowersOf(p.Store).through(func(s Store) Store { return &prefixed{s, p.prefix} })
	powers.Prefix += p.prefix
	if keys := powers.Keys; keys != nil {
		powers.Keys = func(ctx context.Context, begin string, f func([]string) error) error {
			return keys(ctx, p.prefix+begin, func(found []string) error {
				own := make([]string, len(found))
				for i, key := range found {
					own[i] = key[len(p.prefix):]
				}
				return f(own)
			})
		}
	}
	if powers.Losses != nil {
		powers.Losses = prefixedLosses{powers.Losses, p.prefix}
	}
	return powers
}

type prefixedLosses struct {
	Losses
	prefix string
}

func (l prefixedLosses) GoneBack(ctx context.Context, key string) error {
	return l.Losses.GoneBack(ctx, l.prefix+key)
}

func (p *prefixed) Do(ctx context.Context, ops []Op) error {
	inner := make([]Op, len(ops))
	for i, op := range ops {
		inner[i] = op
		// An empty key must stay a bad one.
		if op.Key != "" {
			inner[i].Key = p.prefix + op.Key
		}
	}
	err := p.Store.Do(ctx, inner)
	for i := range ops {
		ops[i].Result = inner[i].Result
	}
	return err
}
