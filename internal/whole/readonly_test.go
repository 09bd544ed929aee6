package whole_test

import (
	"context"
	"fmt"
	"maps"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var plugged = []string{
	"After", "AfterAll", "Beside", "Build", "Check", "Committed", "Counts", "Def", "Each", "Early", "Finish", "Meet", "Name", "Places", "Prepare", "Purge", "Repair", "Undo", "Window",
}

// verbs has a call for each method of an object that writes, and the names of the others.
type verbs struct {
	of     any
	writes map[string]func() error
	reads  string
}

const recordReads = "All Before DB Get GetMulti ID IDs Last ModelName OnChange Plug"

func recordVerbs[T any, K comparable](ctx context.Context, r *kvmodel.Records[T, K], fresh func() *T, id K) verbs {
	same := func(*T) error { return nil }
	return verbs{r, map[string]func() error{
		"Create":      func() error { return r.Create(ctx, fresh()) },
		"CreateMulti": func() error { return r.CreateMulti(ctx, []*T{fresh(), fresh()}) },
		"Put":         func() error { return r.Put(ctx, fresh()) },
		"Update":      func() error { _, err := r.Update(ctx, id, same); return err },
		"Touch":       func() error { return r.Touch(ctx, id, time.Now().Add(time.Hour)) },
		"Upsert":      func() error { _, err := r.Upsert(ctx, id, same); return err },
		"Delete":      func() error { return r.Delete(ctx, id) },
		"PutMulti":    func() error { return r.PutMulti(ctx, []*T{fresh(), fresh()}) },
		"Load": func() error {
			_, err := r.Load(ctx, func(yield func(*T, error) bool) { yield(fresh(), nil) }, kvmodel.LoadOptions{})
			return err
		},
		"UpdateMulti": func() error { _, err := r.UpdateMulti(ctx, []K{id}, same); return err },
		"DeleteMulti": func() error { return r.DeleteMulti(ctx, []K{id}) },
		"Purge":       func() error { return r.Purge(ctx, id) },
		"Rebuild":     func() error { return r.Rebuild(ctx) },
		"AcceptLoss":  func() error { return r.AcceptLoss(ctx) },
	}, recordReads}
}

func reading(of any, reads string) verbs { return verbs{of, nil, reads} }

const boardReads = "Around Ascending At Between IDs Last Len Numbered On Page Percentile Picture Prefix Rank RankOf Standing Stats Table Verify"

func verbsOf(t *testing.T, ctx context.Context, l *whole.Library) []verbs {
	id := whole.WorkIDs[0]
	sessions, err := sessionsIn(l)
	must(t, err)
	r, w := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
	session, err := sessions.New(r, "s")
	must(t, err)
	session.Values["color"] = "red"
	there, err := sessions.List(ctx, "ann")
	if err != nil || len(there) == 0 {
		t.Fatal("ann's sessions:", len(there), err)
	}
	current, err := sessions.Generation(ctx, "ann")
	must(t, err)
	top := l.Works.TopPrice
	return []verbs{
		{l.DB, map[string]func() error{
			"Accept":    func() error { _, err := l.DB.Accept(ctx); return err },
			"Repair":    func() error { return l.DB.Repair(ctx) },
			"DropModel": func() error { return l.DB.DropModel(ctx, "Other") },
			"Note":      func() error { _, err := l.DB.Note(ctx, l.DB.Store(), "notes", []string{"x"}); return err },
			"Writable":  func() error { return l.DB.Writable() },
		}, "AtFlush Begin Close Derived Finishes Flush HasCounter Latch Later Named Now OnTrip Patient Plug SideBySide Soon Stats Store Sum Surely Tally Underway Windows Writers"},
		recordVerbs(ctx, l.Works.Records, func() *whole.Work { return &whole.Work{Slug: "new"} }, id),
		recordVerbs(ctx, l.Likes.Records, func() *whole.Like { return &whole.Like{User: "u", Work: id} }, whole.LikeID{User: "u", Work: id}),
		recordVerbs(ctx, l.Bids.Records, func() *whole.Bid { return new(whole.Bid) }, "b"),
		recordVerbs(ctx, l.Offers.Records, func() *whole.Offer { return &whole.Offer{Code: "new"} }, "o"),
		recordVerbs(ctx, l.Pieces.Records, func() *whole.Piece { return new(whole.Piece) }, "p"),
		recordVerbs(ctx, l.Polls.Records, func() *whole.Poll { return new(whole.Poll) }, "q0"),
		recordVerbs(ctx, l.Votes.Records, func() *whole.Vote { return &whole.Vote{User: "u", Poll: "q0"} }, whole.VoteID{User: "u", Poll: "q0"}),
		recordVerbs(ctx, l.Tickets.Records, func() *whole.Ticket { return new(whole.Ticket) }, 1),
		{l.Works.History, map[string]func() error{
			"Restore": func() error {
				all, err := l.Works.History.Of(ctx, id, 1)
				if err != nil || len(all) == 0 {
					return fmt.Errorf("%d revisions, %w", len(all), err)
				}
				_, err = l.Works.History.Restore(ctx, id, all[0].Rev)
				return err
			},
		}, "Of"},
		reading(l.Works.BySlug, "Find FindMulti"),
		reading(l.Works.ByAuthor, "Derived Of Spec"),
		reading(l.Works.ByAuthor.Of("a"), "All Contains Count IDs Numbered Page Picture Size"),
		{l.Works.Views, map[string]func() error{
			"Hit": func() error { _, err := l.Works.Views.Hit(ctx, id); return err },
			"Add": func() error { _, err := l.Works.Views.Add(ctx, id, 3); return err },
			"Set": func() error { return l.Works.Views.Set(ctx, id, 3) },
		}, "Get"},
		reading(l.Works.Likes, "Get"),
		reading(l.Pieces.Total, "Count"),
		{l.DB.Tally("Work", "Views"), map[string]func() error{
			"Add": func() error { _, err := l.DB.Tally("Work", "Views").Add(ctx, id, 3); return err },
			"Set": func() error { return l.DB.Tally("Work", "Views").Set(ctx, id, 3) },
		}, "Follow Key Keys Number"},
		{top, map[string]func() error{
			"Mend":    func() error { _, err := top.Mend(ctx); return err },
			"Refresh": func() error { return top.Refresh(ctx) },
			"Rebuild": func() error { return top.Rebuild(ctx) },
		}, boardReads},
		reading(l.Works.TopPriceByAuthor, "Of On"),
		{l.Works.TopViews, map[string]func() error{
			"Mend":    func() error { _, err := l.Works.TopViews.Mend(ctx, id); return err },
			"Refresh": func() error { return l.Works.TopViews.Refresh(ctx) },
			"Rebuild": func() error { return l.Works.TopViews.Rebuild(ctx, id) },
		}, boardReads},
		reading(top.Between(0, 9), "Ascending Count Page"),
		reading(l.Works.Newest, "All Head InUse Page Pictures Since"),
		reading(l.Works.NewestByAuthor, "Of"),
		eventVerbs(ctx, l.Visits, whole.Visit{Owner: "o", Guest: "g"}),
		eventVerbs(ctx, l.Notices, whole.Notice{To: "o", Text: "g"}),
		eventVerbs(ctx, l.Shots, whole.Shot{Of: "o", Text: "g"}),
		{l.Tickets.Sequence, map[string]func() error{
			"Add": func() error { _, err := l.Tickets.Sequence.Add(ctx, &whole.Ticket{Text: "x"}); return err },
		}, "Count Get LastPage Page Range Split"},
		{sessions, map[string]func() error{
			"Save":       func() error { return sessions.Save(r, w, session) },
			"SignIn":     func() error { return sessions.SignIn(r, w, session, "ann") },
			"SignInIf":   func() error { return sessions.SignInIf(r, w, session, current) },
			"Regenerate": func() error { return sessions.Regenerate(r, w, session) },
			"RevokeAll":  func() error { return sessions.RevokeAll(ctx, "ann") },
			"Revoke":     func() error { return sessions.Revoke(ctx, "ann", there[0].ID) },
		}, "Generation Get New User List SignOut"}, // SignOut of a session that is not stored writes nothing.
	}
}

func eventVerbs[T any, E interface {
	Push(context.Context, ...T) error
	Clear(context.Context, string) error
	Rebuild(context.Context) error
}](ctx context.Context, e E, event T) verbs {
	return verbs{e, map[string]func() error{
		"Push":    func() error { return e.Push(ctx, event) },
		"Clear":   func() error { return e.Clear(ctx, "o") },
		"Rebuild": func() error { return e.Rebuild(ctx) },
	}, "Latest ModelName Unread"}
}

func filled(t *testing.T, ctx context.Context) (*memkv.Store, whole.Shown) {
	mem := memkv.New(memkv.Options{})
	l := libraryIn(t, still{mem, kv.Powers{}})
	calls(l, new(whole.Diary), 0, 300, 1, 2)
	if _, err := l.Works.Upsert(ctx, whole.WorkIDs[0], func(v *whole.Work) error { v.Title = "there"; return nil }); err != nil {
		t.Fatal(err)
	}
	sessions, err := sessionsIn(l)
	must(t, err)
	r := httptest.NewRequest("GET", "/", nil)
	session, _ := sessions.New(r, "s")
	must(t, sessions.SignIn(r, httptest.NewRecorder(), session, "ann"))
	time.Sleep(20 * time.Second) // for boards that follow
	must(t, l.DB.Flush(ctx))
	shown := l.Look(ctx)
	must(t, l.DB.Close(ctx))
	return mem, shown
}

func TestMatrix_OfVerbs_AReadOnlyLibraryShowsAllAndWritesNothing(t *testing.T) {
	for name, powers := range map[string]func(*memkv.Store) kv.Powers{
		"plain":  func(*memkv.Store) kv.Powers { return kv.Powers{} },
		"server": func(*memkv.Store) kv.Powers { return kv.Powers{Unless: true, Ordered: true} },
		"alone":  func(mem *memkv.Store) kv.Powers { p := mem.Powers(); p.Alone = true; return p },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				mem, want := filled(t, ctx)
				var writes atomic.Int64
				counted := tap{Store: mem, before: func(ops []kv.Op) error {
					for i := range ops {
						if ops[i].Kind.Writes() {
							writes.Add(1)
						}
					}
					return nil
				}}
				before := slices.Sorted(slices.Values(mem.Keys()))
				l, err := whole.Open(still{counted, powers(mem)}, kvmodel.ReadOnly())
				must(t, err)
				if diff := differences(want, l.Look(ctx)); len(diff) > 0 {
					t.Errorf("it shows something else:\n%s", strings.Join(diff, "\n"))
				}
				for _, v := range verbsOf(t, ctx, l) {
					tryVerbs(t, v)
				}
				time.Sleep(time.Minute)
				for range 3 {
					if err := l.DB.Flush(ctx); err != nil {
						t.Error("flush:", err)
					}
				}
				if diff := differences(want, l.Look(ctx)); len(diff) > 0 {
					t.Errorf("after the verbs it shows something else:\n%s", strings.Join(diff, "\n"))
				}
				if err := l.DB.Close(ctx); err != nil {
					t.Error("close:", err)
				}
				if n := writes.Load(); n > 0 {
					t.Errorf("%d writes have reached the store", n)
				}
				proof.NoDiff(t, cmp.Diff(before, slices.Sorted(slices.Values(mem.Keys()))), "keys")
			})
		})
	}
}

func differences(want, got whole.Shown) []string {
	return slices.DeleteFunc(want.Differences(got), func(line string) bool { return strings.HasPrefix(line, "Offer ") })
}

// tryVerbs requires every method to be known, and those that write to be refused.
func tryVerbs(t *testing.T, v verbs) {
	t.Helper()
	of := reflect.TypeOf(v.of)
	var got []string
	for i := range of.NumMethod() {
		if name := of.Method(i).Name; !slices.Contains(plugged, name) || v.writes[name] != nil {
			got = append(got, name)
		}
	}
	want := slices.Sorted(slices.Values(slices.Concat(strings.Fields(v.reads), slices.Collect(maps.Keys(v.writes)))))
	proof.NoDiff(t, cmp.Diff(want, got), "%v: say of each method whether it writes (-said +there)", of)
	for _, name := range slices.Sorted(maps.Keys(v.writes)) {
		proof.Is(t, v.writes[name](), kvmodel.ErrReadOnly)
	}
}

func sessionsIn(l *whole.Library) (*kvsession.Store, error) {
	return kvsession.New(l.DB.Store(), kvsession.Options{Keys: [][]byte{[]byte("a key of thirty-two bytes, no less")}})
}
