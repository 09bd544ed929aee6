package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The messages between the command and an app that has the store's file open, for a verb that
// reads: the app describes its store with has, and then answers each query with told.
type (
	has struct {
		Prefix string `json:"prefix,omitempty"` // of the tenant
		Keys   bool   `json:"keys"`
		Walk   bool   `json:"walk"`
	}
	query struct {
		Get   []string `json:"get,omitempty"`
		Walk  bool     `json:"walk,omitempty"` // in order; otherwise like Powers.Keys, if Get is empty
		Begin string   `json:"begin,omitempty"`
		After string   `json:"after,omitempty"`
	}
	told struct {
		Items  []got    `json:"items,omitempty"` // answers Get
		Keys   []string `json:"keys,omitempty"`
		End    bool     `json:"end,omitempty"` // there are no more keys
		Failed *failure `json:"failed,omitempty"`
	}
	got struct {
		Value   []byte     `json:"value,omitempty"`
		Version kv.Version `json:"version,omitempty"`
		Failed  *failure   `json:"failed,omitempty"`
	}
	failure struct {
		Text string `json:"text"`
		Of   []int  `json:"of"` // the indexes of its errors in failures
	}
)

var failures = []error{kv.ErrNotFound, kv.ErrUnavailable, kv.ErrLost, kv.ErrBadKey, kvmodel.ErrCorrupt, kvmodel.ErrUnknownFormat}

func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Text: err.Error()}
	for i, kind := range failures {
		if errors.Is(err, kind) {
			f.Of = append(f.Of, i)
		}
	}
	return f
}

func (f *failure) err() error {
	if f == nil {
		return nil
	}
	return f
}

func (f *failure) Error() string { return f.Text }

func (f *failure) Is(target error) bool {
	for _, i := range f.Of {
		if i < len(failures) && failures[i] == target {
			return true
		}
	}
	return false
}

// tell answers the queries of a verb that reads, until the command closes the connection.
func (s *server) tell(ctx context.Context, conn *net.UnixConn, to *caller, hears *json.Decoder) {
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	store := s.db.Store()
	p := kv.PowersOf(store)
	for err := to.says.Encode(has{p.Prefix, p.Keys != nil, p.Walk != nil}); err == nil; {
		var a query
		if err = hears.Decode(&a); err != nil {
			return
		}
		send := func(keys []string) error { return to.says.Encode(told{Keys: keys}) }
		t := told{End: true}
		switch {
		case len(a.Get) > 0:
			t = getFrom(ctx, store, a.Get)
		case a.Walk && p.Walk != nil:
			t.Failed = failureOf(p.Walk(ctx, a.Begin, a.After, send))
		case !a.Walk && p.Keys != nil:
			t.Failed = failureOf(p.Keys(ctx, a.Begin, send))
		default:
			t.Failed = failureOf(ErrNoKeys)
		}
		err = to.says.Encode(t)
	}
}

func getFrom(ctx context.Context, s kv.Store, keys []string) (t told) {
	results, _ := kv.GetAll(ctx, s, keys...) // Each has its own error.
	for _, r := range results {
		t.Items = append(t.Items, got{r.Value, r.Version, failureOf(r.Err)})
	}
	return t
}

// remote is the store of an app, read over the app's socket.
type remote struct {
	call *call
	idle chan *app // idle connections
	has  has
}

// idleMost is the maximum number of idle connections: as many as there are concurrent queries.
const idleMost = 4

var errRemote = fmt.Errorf("%w: %w: an app has the file open", kv.ErrUnavailable, kv.ErrReadOnly)

// storeOf returns the store of the app behind a.
func (c *call) storeOf(ctx context.Context, a *app) (kv.Store, error) {
	h, err := c.meet(a)
	if err != nil {
		return nil, errors.Join(err, a.conn.Close())
	}
	r := &remote{call: c, idle: make(chan *app, idleMost), has: h}
	r.idle <- a
	c.tellOf(a)
	if err := ofTenant(r.has.Prefix, c.tenant); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return kv.ReadOnly(r, errRemote), nil
}

// isRemote reports whether s is the store of an app.
func isRemote(s kv.Store) bool { return errors.Is(kv.PowersOf(s).ReadOnly, errRemote) }

// ofTenant returns an error if keys with this prefix do not belong to the tenant.
func ofTenant(prefix, tenant string) error {
	wants := ""
	if tenant != "" {
		wants = kv.JoinText(tenant) + ":"
	}
	switch {
	case prefix == wants:
		return nil
	case prefix == "":
		return fmt.Errorf("%w: the app has no tenant, so leave out --tenant", errCall)
	}
	return fmt.Errorf("%w: the app serves only the tenant %s: pass it with --tenant", errCall, strings.TrimSuffix(prefix, ":"))
}

// meet sends the first request to a, and returns the description of its store.
func (c *call) meet(a *app) (h has, err error) {
	if err = c.request(a, request{Reads: true}); err == nil {
		err = a.says.Decode(&h)
	}
	return h, err
}

// Powers are those of a store written by others.
func (r *remote) Powers() (p kv.Powers) {
	p.Prefix = r.has.Prefix
	if r.has.Keys {
		p.Keys = func(ctx context.Context, begin string, f func([]string) error) error {
			return r.keys(ctx, query{Begin: begin}, f)
		}
	}
	if r.has.Walk {
		p.Walk = func(ctx context.Context, begin, after string, f func([]string) error) error {
			return r.keys(ctx, query{Walk: true, Begin: begin, After: after}, f)
		}
	}
	return p
}

// Close closes the idle connections.
func (r *remote) Close() (err error) {
	for {
		select {
		case a := <-r.idle:
			err = errors.Join(err, a.conn.Close())
		default:
			return err
		}
	}
}

// Do runs ops, which must be gets.
func (r *remote) Do(ctx context.Context, ops []kv.Op) error {
	var a query
	if kv.Check(ops, kv.Powers{}) == 0 {
		return kv.Unanswered(ops)
	}
	for i := range ops {
		if ops[i].Result.Err == nil {
			a.Get = append(a.Get, ops[i].Key)
		}
	}
	var t told
	err := r.ask(ctx, a, func(says *json.Decoder) error { return says.Decode(&t) })
	if err == nil && len(t.Items) != len(a.Get) {
		err = fmt.Errorf("the app has answered %d of %d gets", len(t.Items), len(a.Get))
	}
	if err != nil {
		return kv.Fail(ops, kv.Unavailable(err))
	}
	for i := range ops {
		if ops[i].Result.Err == nil {
			item := t.Items[0]
			t.Items = t.Items[1:]
			ops[i].Result = kv.Result{Value: append([]byte{}, item.Value...), Version: item.Version, Err: item.Failed.err()}
		}
	}
	return kv.Unanswered(ops)
}

// keys calls f with the keys selected by a.
func (r *remote) keys(ctx context.Context, a query, f func(keys []string) error) error {
	var own error // the error of f
	err := r.ask(ctx, a, func(says *json.Decoder) error {
		for {
			var t told
			if err := says.Decode(&t); err != nil || t.End {
				own = t.Failed.err()
				return err
			}
			if own = f(t.Keys); own != nil {
				return own
			}
		}
	})
	if own == nil && err != nil {
		return kv.Unavailable(err)
	}
	return own
}

// ask sends a to the app, and calls hear to read the answer, on a connection of its own.
func (r *remote) ask(ctx context.Context, a query, hear func(*json.Decoder) error) error {
	to, err := r.free(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = to.conn.SetDeadline(time.Now()) })
	if err = to.hears.Encode(a); err == nil {
		err = hear(to.says)
	}
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err == nil {
		select {
		case r.idle <- to:
			return nil
		default:
		}
	}
	return errors.Join(err, to.conn.Close())
}

// free returns an idle connection, or a new one.
func (r *remote) free(ctx context.Context) (*app, error) {
	select {
	case a := <-r.idle:
		return a, nil
	default:
	}
	a, err := r.call.app(ctx)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return nil, errors.New("the app has stopped")
	}
	if _, err := r.call.meet(a); err != nil {
		return nil, errors.Join(err, a.conn.Close())
	}
	return a, nil
}
