package whole_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

// farm is the servers of a store, as the release before heads has left them.
type farm struct {
	open  func() (kv.Store, error)
	wires []*wire
	older []string // commands that make a server what it was, each with its answer
	asks  string   // for the boot item
}

const oldNumber = "5f3c9a61d2b04e77" // of a memcached, as that release kept it

// farms start servers: one Redis, two of memcached.
var farms = map[string]func(*testing.T) *farm{
	"redis": func(t *testing.T) *farm {
		p := started(t, servers.Redis)
		return &farm{
			open:  func() (kv.Store, error) { return kin["redis"].open(p.Addr) },
			wires: []*wire{dial(t, p.Addr)},
			older: []string{"DEL ringtree{b}", ":1"},
			asks:  "STRLEN ringtree{b}",
		}
	},
	"memcached": func(t *testing.T) *farm {
		one, other := started(t, servers.Memcached), started(t, servers.Memcached)
		return &farm{
			open: func() (kv.Store, error) {
				return memcachekv.OpenVolatile([]string{one.Addr, other.Addr}, memcachekv.Options{})
			},
			wires: []*wire{dial(t, one.Addr), dial(t, other.Addr)},
			older: []string{"delete ringtree{b}", "DELETED", "set ringtree{boot} 0 0 16\r\n" + oldNumber, "STORED"},
			asks:  "mg ringtree{b} s",
		}
	},
}

func started(t *testing.T, start func(...string) (*servers.Process, error)) *servers.Process {
	t.Helper()
	p, err := start()
	must(t, err)
	t.Cleanup(p.Stop)
	return p
}

// grownOld puts the items of a dump into the servers, and takes away what the release
// before heads did not have there.
func (f *farm) grownOld(t *testing.T, lines []byte) {
	t.Helper()
	s, err := f.open()
	must(t, err)
	load(t, s, lines)
	must(t, s.Close())
	for _, w := range f.wires {
		for i := 0; i < len(f.older); i += 2 {
			w.send("%s\r\n", f.older[i])
			if answer := w.line(); answer != f.older[i+1] {
				t.Fatalf("%s: %s", f.older[i], answer)
			}
		}
	}
}

// booted asserts that each server has a boot item.
func (f *farm) booted(t *testing.T) {
	t.Helper()
	for i, w := range f.wires {
		w.send("%s\r\n", f.asks)
		if answer := w.line(); answer == ":0" || answer == "EN" {
			t.Errorf("server %d has no boot item", i)
		}
	}
}

func TestOlder_ServersGetABootItemAndHaveLostNothing(t *testing.T) {
	t.Parallel()
	for _, k := range kinds[1:] {
		t.Run(k.name, func(t *testing.T) {
			servers.Need(t, kin[k.name].program)
			var was kept
			name := filepath.Join(beforeHeads, k.name)
			must(t, json.Unmarshal(read(t, name+".json.gz"), &was))
			f := farms[k.name](t)
			f.grownOld(t, read(t, name+".items.gz"))
			began := time.Now()
			clock := kvmodel.Clock(func() time.Time { return was.Written.Add(time.Since(began)) })
			onServers(t, f, clock, func(l *whole.Library) {
				shown := l.Look(ctx)
				sound(t, "as it was kept", shown)
				for question, want := range was.Before {
					if got, asked := shown[question]; asked && got != want && (k.name == "redis" || steady.MatchString(question)) {
						t.Errorf("%s: want %q, got %q", question, want, got)
					}
				}
				f.booted(t)
				changeHeld(t, l)
			})
			onServers(t, f, clock, func(l *whole.Library) {
				sound(t, "after a change", l.Look(ctx))
				w, err := l.Works.BySlug.Find(ctx, "held")
				if err != nil || w.ID != "w7" {
					t.Errorf("after a change: %v, %v", w, err)
				}
			})
		})
	}
}

// onServers lets a process work on the servers, and closes it.
func onServers(t *testing.T, f *farm, clock kvmodel.Option, work func(*whole.Library)) {
	t.Helper()
	s, err := f.open()
	must(t, err)
	defer s.Close()
	l, err := whole.Open(s, clock)
	must(t, err)
	work(l)
	must(t, l.DB.Flush(ctx), l.DB.Close(ctx))
}
