package whole_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

type serverLoss struct {
	server int
	how    string
	seed   uint64
}

func (s serverLoss) String() string {
	return fmt.Sprintf("server %d %s, seed %d", s.server, s.how, s.seed)
}

func (s serverLoss) befall(t *testing.T, p *servers.Process) {
	t.Helper()
	if s.how == "restarted" {
		p.Kill()
		must(t, p.Start())
		return
	}
	w := dial(t, p.Addr)
	w.send("flush_all\r\n")
	if got := w.line(); got != "OK" {
		t.Fatal(got)
	}
}

// On real servers a rebuild waits a minute for writes in flight, so go test tries none.
func TestMatrix_OfLostServers_EveryAnswerIsRightOrSaysSo(t *testing.T) {
	servers.Need(t, "memcached")
	t.Parallel()
	var all []serverLoss
	for seed := range uint64(3) {
		for server := range 2 {
			all = append(all, serverLoss{server, "restarted", seed}, serverLoss{server, "flushed", seed})
		}
	}
	found := &sheet{corner: "class"}
	for loss := range proof.Part(t, nil, all) {
		t.Run(loss.String(), func(t *testing.T) { loss.try(t, found) })
	}
	found.merge()
	slices.SortFunc(found.rows, func(a, b string) int { return classOrder(a) - classOrder(b) })
	publish(t, "lost servers", found, "")
}

func (s serverLoss) try(t *testing.T, found *sheet) {
	two, open := twoServers(t)
	l := libraryIn(t, open())
	want := writeAll(t, l, s.seed)
	s.befall(t, two[s.server])

	fresh := libraryIn(t, open())
	if s.how == "flushed" {
		l = libraryIn(t, open()) // A running process notices it within 15 seconds.
	}
	said := 0
	for i, name := range []string{"a process that ran", "a fresh process"} {
		l := []*whole.Library{l, fresh}[i]
		for question, answer := range l.Look(ctx) {
			var v verdict
			right, asked := want[question]
			v.add(question, right, answer, asked, whole.SaysLoss(answer))
			for _, wrong := range v.wrong {
				t.Errorf("%s, %s", name, wrong)
			}
			said += v.says
			class, _ := indexClass(question)
			found.put(class, s.how+": "+name, v.word())
		}
	}
	if said == 0 {
		t.Error("no answer says that anything is lost")
	}
	lost, err := fresh.DB.Accept(ctx)
	if err != nil || !slices.Equal(lost, []string{two[s.server].Addr}) {
		t.Fatalf("Accept: %q, %v; want server %d", lost, err, s.server)
	}
	mendAtOnce(t, fresh)
	for range 2 {
		must(t, errors.Join(fresh.DB.Repair(ctx), fresh.DB.Flush(ctx)))
	}
	wantAllThatIsLeft(t, fresh)
}

func twoServers(t *testing.T, args ...string) (two []*servers.Process, open func() kv.Store) {
	t.Helper()
	var addrs []string
	for range 2 {
		p := servers.Of(t, "memcached", args...)
		two, addrs = append(two, p), append(addrs, p.Addr)
	}
	return two, func() kv.Store {
		s, err := memcachekv.OpenVolatile(addrs, memcachekv.Options{})
		must(t, err)
		return s
	}
}

func writeAll(t *testing.T, l *whole.Library, seed uint64) whole.Shown {
	t.Helper()
	for n := range 3 {
		calls(l, new(whole.Diary), n, 150, seed, uint64(n))
	}
	must(t, l.DB.Flush(ctx))
	shown := l.Look(ctx)
	must(t, l.DB.Flush(ctx))
	return shown
}

// Each rebuild waits for processes that do not know of the loss yet.
func mendAtOnce(t *testing.T, l *whole.Library) {
	t.Helper()
	all := mends(l)
	errs := make([]error, len(all))
	var under sync.WaitGroup
	for i, mend := range all {
		under.Go(func() { errs[i] = mend() })
	}
	under.Wait()
	must(t, errs...)
}
