package whole_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

// serverLoss is how one of two memcached servers loses what it holds.
type serverLoss struct {
	server int
	how    string
	seed   uint64
}

// lose makes one of two servers lose what it holds.
func (s serverLoss) lose(t *testing.T, two []*servers.Process) {
	t.Helper()
	p := two[s.server]
	if s.how == "flushed" {
		w := dial(t, p.Addr)
		w.send("flush_all\r\n")
		if got := w.line(); got != "OK" {
			t.Fatal(got)
		}
		return
	}
	p.Kill()
	must(t, p.Start())
}

// open opens the library on two servers, as a process does.
func openOnTwo(t *testing.T, two []*servers.Process) *whole.Library {
	t.Helper()
	s, err := memcachekv.OpenVolatile([]string{two[0].Addr, two[1].Addr}, memcachekv.Options{})
	must(t, err)
	l, err := whole.Open(s)
	must(t, err)
	t.Cleanup(func() { _ = l.DB.Close(ctx) })
	return l
}

func TestMatrix_OfLostServers_EveryAnswerIsRightOrSaysSo(t *testing.T) {
	servers.Need(t, "memcached")
	t.Parallel() // It waits, most of the time.
	var all []serverLoss
	for seed := range uint64(3) {
		for server := range 2 {
			all = append(all, serverLoss{server, "restarted", seed}, serverLoss{server, "flushed", seed})
		}
	}
	found := &sheet{corner: "class"}
	for loss := range proof.Part(t, all[:1], all) {
		t.Run(fmt.Sprintf("server %d %s, seed %d", loss.server, loss.how, loss.seed), func(t *testing.T) {
			var two []*servers.Process
			for range 2 {
				p, err := servers.Memcached()
				must(t, err)
				t.Cleanup(p.Stop)
				two = append(two, p)
			}
			l := openOnTwo(t, two)
			for i := range 3 {
				w := whole.NewWriter(l, i, rand.New(rand.NewPCG(loss.seed, uint64(i))), new(whole.Diary))
				for range 150 {
					w.Step(ctx)
				}
			}
			must(t, l.DB.Flush(ctx))
			want := l.Look(ctx)
			must(t, l.DB.Flush(ctx))
			loss.lose(t, two)

			fresh := openOnTwo(t, two)
			if loss.how == "flushed" {
				// A process that runs notices it within 15 seconds.
				l = openOnTwo(t, two)
			}
			said := 0
			for name, l := range map[string]*whole.Library{"a process that ran": l, "a fresh process": fresh} {
				byClass := map[string]*verdict{}
				for _, class := range indexClasses {
					byClass[class.name] = new(verdict)
				}
				for question, got := range l.Look(ctx) {
					class, _ := indexClass(question)
					v := byClass[class]
					v.asked++
					switch right, asked := want[question]; {
					case asked && got == right:
					case whole.SaysLoss(got):
						v.says++
						said++
					case asked:
						v.wrong = append(v.wrong, fmt.Sprintf("%s, %s: want %.200q, got %.200q", name, question, right, got))
					default:
						v.wrong = append(v.wrong, fmt.Sprintf("%s, %s: it was not there before, got %.200q", name, question, got))
					}
				}
				for _, class := range indexClasses {
					v := byClass[class.name]
					for _, wrong := range v.wrong {
						t.Error(wrong)
					}
					if v.asked > 0 {
						found.put(class.name, loss.how+": "+name, v.word())
					}
				}
			}
			if said == 0 {
				t.Error("no answer says that anything is lost")
			}
			lost, err := fresh.DB.Accept(ctx)
			if err != nil || !slices.Equal(lost, []string{two[loss.server].Addr}) {
				t.Fatalf("Accept: %q, %v; want server %d", lost, err, loss.server)
			}
			// Each of them waits for processes that do not know of the loss yet.
			rebuilds := []func(context.Context) error{func(ctx context.Context) error { return fresh.Scores.Rebuild(ctx) }}
			for _, m := range fresh.All() {
				rebuilds = append(rebuilds, m.Rebuild)
			}
			errs := make([]error, len(rebuilds))
			var under sync.WaitGroup
			for i, rebuild := range rebuilds {
				under.Go(func() { errs[i] = rebuild(ctx) })
			}
			under.Wait()
			must(t, errs...)
			for _, topic := range whole.Topics {
				must(t, fresh.Topics.Of(topic).Accept(ctx))
			}
			must(t, fresh.Log.Accept(ctx))
			for range 2 {
				must(t, errors.Join(fresh.DB.Repair(ctx), fresh.DB.Flush(ctx)))
			}
			should, err := fresh.Should(ctx)
			must(t, err)
			wantAllThatIsLeft(t, should, fresh.Look(ctx))
		})
	}
	found.merge()
	publish(t, "lost servers", found, "")
}

// wantAllThatIsLeft wants every record that is left and can be listed in the answers of
// every index. What counts entries still counts those of records that are lost, and
// nothing says any more which records a lost part of an enumeration has named.
func wantAllThatIsLeft(t *testing.T, should, shown whole.Shown) {
	t.Helper()
	lost := map[string]bool{} // models
	for question, want := range should {
		if model, rest, _ := strings.Cut(question, " "); rest == "All" && shown[question] != want {
			t.Logf("not listed any more: %s of %q, %q are left", question, want, shown[question])
			lost[model] = true
		}
	}
	for question, want := range should {
		model, rest, _ := strings.Cut(question, " ")
		listing := strings.HasSuffix(rest, " All") || strings.HasSuffix(rest, "Page") || strings.HasPrefix(rest, "BySlug ") || strings.HasPrefix(rest, "ByCode ")
		if lost[model] || !listing {
			continue
		}
		got := strings.Fields(shown[question])
		for _, id := range strings.Fields(want) {
			if !slices.Contains(got, id) {
				t.Errorf("after Rebuild, %s: want %q, got %q", question, want, shown[question])
				break
			}
		}
	}
}
