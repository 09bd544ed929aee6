package whole_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// halved is what a store knows of its two servers, of which one has lost its memory.
type halved struct{ edition uint64 }

func (h *halved) Accept(context.Context) ([]string, error) {
	h.edition++
	return []string{"two"}, nil
}

func (h *halved) Edition() (number, id uint64)           { return h.edition, h.edition }
func (h *halved) Lost() []error                          { return nil }
func (h *halved) Look(context.Context) error             { return nil }
func (h *halved) Renew(context.Context) error            { return nil }
func (h *halved) GoneBack(context.Context, string) error { return nil }
func (h *halved) Watch(func([]string, error))            {}

// Half of all keys are gone. Once that is accepted and the models are rebuilt, every index
// has what is left, and no ticket is hidden behind the numbers of lost ones.
func TestLosses_HalfOfAllKeysLost_RebuildFindsWhatIsLeft(t *testing.T) {
	t.Parallel()
	items := lossWorlds[0].furnished(t)
	for _, w := range lossWorlds[:2] {
		for half := range 8 {
			t.Run(fmt.Sprint(w.name, " ", half), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { w.losesHalf(t, items, half) })
			})
		}
	}
}

func (w lossWorld) losesHalf(t *testing.T, items map[string][]byte, half int) {
	mem, two := memkv.New(memkv.Options{}), &halved{edition: 1}
	powers := w.powers(mem)
	powers.Losses = two
	for key, value := range items {
		must(t, mem.Do(ctx, []kv.Op{kv.OpSet(key, value)}))
	}
	running := w.openOver(t, mem, powers)
	running.Look(ctx)
	must(t, running.DB.Flush(ctx))
	for _, key := range mem.Keys() {
		if crc32.ChecksumIEEE([]byte(key))>>half&1 == 0 {
			mem.Evict(key)
		}
	}
	var left []string
	for _, key := range mem.Keys() {
		if id, is := strings.CutPrefix(key, "r:Ticket:"); is {
			left = append(left, id)
		}
	}
	slices.Sort(left)

	fresh := w.openOver(t, mem, powers)
	_, err := fresh.DB.Accept(ctx)
	must(t, err)
	for _, m := range fresh.All() {
		must(t, m.Rebuild(ctx))
	}
	rest(t, fresh)
	for name, l := range map[string]*whole.Library{"running": running, "fresh": fresh, "new": w.openOver(t, mem, powers)} {
		should, err := l.Should(ctx)
		must(t, err)
		shown := l.Look(ctx)
		wantAllThatIsLeft(t, should, shown)
		for _, question := range []string{"Ticket All", "Ticket ByText yes All", "Ticket ByText no All"} {
			if should[question] != shown[question] {
				t.Errorf("%s process, %s: want %q, got %q", name, question, should[question], shown[question])
			}
		}
		if got := shown["Ticket All"]; got != strings.Join(left, " ") {
			t.Errorf("%s process: tickets %q, of %q", name, got, left)
		}
	}
	v := &whole.Ticket{Text: "yes"}
	must(t, fresh.Tickets.Create(ctx, v))
	for _, id := range left {
		if n, err := strconv.ParseInt(id, 10, 64); err != nil || int64(v.ID) <= n {
			t.Errorf("the next ticket is %d, and %s is left", v.ID, id)
		}
	}
}
