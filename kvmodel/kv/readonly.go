package kv

import "context"

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
