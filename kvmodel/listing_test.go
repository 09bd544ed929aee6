package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func FuzzCursor(f *testing.F) {
	f.Add("Page.Newest", []byte("place"), plug.Cursor("Page.Newest", []byte("place")))
	f.Add("", []byte{}, "")
	f.Fuzz(func(t *testing.T, listing string, place []byte, cursor string) {
		if got, err := plug.ParseCursor(listing, plug.Cursor(listing, place)); err != nil || string(got) != string(place) {
			t.Errorf("place %q came back as %q, %v", place, got, err)
		}
		if _, err := plug.ParseCursor(listing, cursor); err != nil && !errors.Is(err, kvmodel.ErrBadCursor) {
			t.Errorf("got %v, want ErrBadCursor", err)
		}
	})
}

func TestTree_ShowsEachItemOnceBelowItsParent(t *testing.T) {
	r := kvmodel.NewRecords(open(t, memkv.New(memkv.Options{})), simpleNotes())
	parent := func(n *note) string { return n.Text }
	byID := func(a, b *note) int { return strings.Compare(a.ID, b.ID) }
	shown := func(edges ...string) (lines []string) {
		var items []*note
		for _, edge := range edges {
			id, of, _ := strings.Cut(edge, "<")
			items = append(items, &note{ID: id, Text: of})
		}
		for range 10 {
			rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
			lines = nil
			for _, b := range kvmodel.Tree(r, items, parent, byID) {
				lines = append(lines, fmt.Sprint(strings.Repeat("-", b.Depth), b.Item.ID))
			}
		}
		return lines
	}
	for _, test := range []struct{ edges, want []string }{
		{nil, nil},
		{[]string{"b", "a", "c<a", "d<c", "e<a", "f<b"}, []string{"a", "-c", "--d", "-e", "b", "-f"}},
		{[]string{"a<deleted", "b<a"}, []string{"a", "-b"}},
		{[]string{"a<b", "b<c", "c<a", "d<b", "e"}, []string{"e", "a", "-c", "--b", "---d"}},
		{[]string{"a<a"}, []string{"a"}},
	} {
		wantSame(t, test.want, shown(test.edges...), "%v", test.edges)
	}
}

type ticket struct {
	ID   int64
	Text string
}

func openTickets(t *testing.T, s kv.Store, n int) *kvmodel.Records[ticket, int64] {
	r := kvmodel.NewRecords(closing(t, open(t, s)), kvmodel.Schema[ticket, int64]{
		Name: "Ticket", Version: 1,
		ID:    func(v *ticket) int64 { return v.ID },
		SetID: func(v *ticket, id int64) { v.ID = id },
		Key:   kvmodel.IntKey[int64](), Codec: keeping[ticket]{}, Sequential: true,
	})
	for range n {
		must(t, r.Create(t.Context(), &ticket{Text: "x"}))
	}
	return r
}

func ticketIDs(items []*ticket) []int64 {
	all := []int64{}
	for _, v := range items {
		all = append(all, v.ID)
	}
	return all
}

func numbersDown(from, to int64) []int64 {
	all := []int64{}
	for n := from; n >= to; n-- {
		all = append(all, n)
	}
	return all
}

func TestRecords_Before_LeadsDownToTheFirstAndBack(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		r := openTickets(t, s, 50)
		for id, high := range map[int64]int64{0: 50, 41: 40, 1: 0, 99: 50} {
			var all []int64
			var walked []kvmodel.Listing[ticket]
			for cursor := "?"; cursor != ""; {
				l, err := r.Before(id).Page(ctx, strings.TrimPrefix(cursor, "?"), 7)
				must(t, err)
				all, walked, cursor = append(all, ticketIDs(l.Items)...), append(walked, l), l.Next
			}
			slices.Sort(all)
			slices.Reverse(all)
			wantSame(t, numbersDown(high, 1), append([]int64{}, all...), "all before %d", id)
			for i := len(walked) - 1; i > 0; i-- {
				l, err := r.Before(id).Page(ctx, walked[i].Prev, 7)
				must(t, err)
				wantSame(t, ticketIDs(walked[i-1].Items), ticketIDs(l.Items), "before %d, the page before page %d", id, i)
			}
			if walked[0].Prev != "" {
				t.Errorf("before %d: the first page has a Prev", id)
			}
		}
	})
}

func TestRecords_Before_GoesOnOverWhatIsGoneOrLeftOut(t *testing.T) {
	ctx := t.Context()
	r := openTickets(t, plain(memkv.New(memkv.Options{})), 60)
	for id := int64(59); id > 30; id-- {
		must(t, r.Delete(ctx, id))
	}
	l, err := r.Before(0).Page(ctx, "", 5)
	must(t, err)
	wantSame(t, []int64{60, 30, 29, 28, 27}, ticketIDs(l.Items), "over what is deleted")
	even := func(v *ticket) bool { return v.ID%2 == 0 }
	l, err = r.Before(0).Page(ctx, l.Next, 5, even)
	must(t, err)
	wantSame(t, []int64{26, 24, 22, 20, 18}, ticketIDs(l.Items), "every second")
	if c := cost(t, ctx, func(ctx context.Context) error { _, err := r.Before(30).Page(ctx, "", 20); return err }); c.Trips != 1 {
		t.Errorf("a page: %v, want one trip", c)
	}
	none := func(*ticket) bool { return false }
	c := cost(t, ctx, func(ctx context.Context) error { _, err := r.Before(0).Page(ctx, "", 1, none); return err })
	if c.Trips > 6 {
		t.Errorf("a page of nothing: %v", c)
	}
}

func TestRecords_Before_RefusesWhatIsNoPageOfIt(t *testing.T) {
	ctx := t.Context()
	r := openTickets(t, memkv.New(memkv.Options{}), 9)
	l, err := r.Before(0).Page(ctx, "", 2)
	must(t, err)
	proof.Ends(t, kvmodel.ErrBadCursor)(r.Before(5).Page(ctx, l.Next, 2))
	proof.Ends(t, kvmodel.ErrBadCursor)(r.Before(0).Page(ctx, plug.Cursor("Ticket.Before 0", []byte("?x")), 2))
	proof.Ends(t, kvmodel.ErrInvalid)(r.Before(0).Page(ctx, "", 0))
	notes := kvmodel.NewRecords(r.DB(), simpleNotes())
	proof.Ends(t, kv.ErrBadOp)(notes.Before("x").Page(ctx, "", 2))

	// A made-up position is harmless.
	far := plug.Cursor("Ticket.Before 0", []byte{'<', 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x1f})
	l, err = r.Before(0).Page(ctx, far, 2)
	wantSame(t, []int64{9, 8}, ticketIDs(l.Items), "from far above: %v", err)
}
