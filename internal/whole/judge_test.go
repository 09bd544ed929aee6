package whole_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// napping is a store of a process that sleeps for minutes right before it adds its first ticket.
type napping struct {
	kv.Store
	wakes atomic.Int64 // in nanoseconds; 0: not yet
}

func (*napping) Powers() kv.Powers { return kv.Powers{} }

func (n *napping) Do(ctx context.Context, ops []kv.Op) error {
	adds := func(op kv.Op) bool { return op.Kind == kv.Add && strings.HasPrefix(op.Key, "r:Ticket:") }
	if slices.ContainsFunc(ops, adds) {
		n.wakes.CompareAndSwap(0, time.Now().Add(5*time.Minute).UnixNano())
	}
	time.Sleep(time.Until(time.Unix(0, n.wakes.Load())))
	return n.Store.Do(ctx, ops)
}

// Repair leaves the number of a process taken for dead empty; the process takes the next one when
// it wakes.
func TestJudge_ANumberThatARepairLeavesEmptyIsNoTicket(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem, d := t.Context(), memkv.New(memkv.Options{}), new(whole.Diary)
		open := func(s kv.Store) *whole.Library {
			l, err := whole.Open(s)
			proof.Must(t, err)
			t.Cleanup(func() { _ = l.DB.Close(context.Background()) })
			return l
		}
		judged := func(l *whole.Library) (about string) {
			wrong, err := l.Judge(ctx, d)
			proof.Must(t, err)
			for _, line := range wrong {
				if strings.HasPrefix(line, "Ticket") {
					about += line + "\n"
				}
			}
			return about
		}
		l := open(&napping{Store: mem})
		fixer := open(struct{ kv.Store }{mem})
		for minute := range 4 {
			time.AfterFunc(time.Duration(minute)*time.Minute+time.Second, func() { _ = fixer.DB.Repair(ctx) })
		}
		w := whole.NewWriter(l, 0, rand.New(rand.NewPCG(1, 1)), d)
		w.Within = func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} }
		w.Ticket(context.WithoutCancel(ctx))
		if n, err := l.Tickets.Sequence.Count(ctx); n != 2 || err != nil {
			t.Errorf("the last number is %d, %v; want 2, as the first one was repaired", n, err)
		}
		if about := judged(l); about != "" {
			t.Error(about)
		}
		if err := l.Tickets.Create(ctx, &whole.Ticket{Text: "yes"}); err != nil || judged(l) == "" {
			t.Errorf("a ticket that nobody has asked for is not noticed, %v", err)
		}
	})
}
