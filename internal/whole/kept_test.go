package whole_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/internal/whole/before"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Stores of each kind, as the releases wrote them, stand in testdata/kept. Each
// release adds its own with
//
//	go test ./internal/whole -run TestKept -keep NAME
//
// and none is ever written again.
var keep = flag.String("keep", "", "write stores with the code as it is, and keep them under this `NAME`")

var ctx = context.Background()

// kind is a kind of store that is kept.
type kind struct {
	name   string
	powers kv.Powers // Atomic is not used: a store has its own, or none
	atomic bool
}

var kinds = []kind{
	{name: "bolt", atomic: true},
	{name: "redis", powers: kv.Powers{Unless: true, Ordered: true}},
	{name: "memcached"},
}

// still is a store that outlives its users and has no other powers than those.
type still struct {
	kv.Store
	powers kv.Powers
}

func (s still) Powers() kv.Powers { return s.powers }
func (s still) Close() error      { return nil }

// opened returns s as a process opens it on a store of kind k.
func (k kind) opened(s kv.Store) kv.Store {
	if k.atomic {
		return still{s, kv.PowersOf(s)}
	}
	powers := k.powers
	powers.Keys = kv.PowersOf(s).Keys
	return still{s, powers}
}

func TestKept_StoresOfEveryReleaseAreReadAndWritten(t *testing.T) {
	t.Parallel()
	if *keep != "" {
		for _, k := range kinds {
			writeKept(t, k, filepath.Join("testdata", "kept", *keep))
			if !k.atomic {
				keepHeld(t, k, filepath.Join("testdata", "kept", *keep))
			}
		}
	}
	releases, err := os.ReadDir(filepath.Join("testdata", "kept"))
	if err != nil || len(releases) == 0 {
		t.Fatalf("no store is kept: %v", err)
	}
	for _, release := range releases {
		for _, k := range kinds {
			t.Run(release.Name()+"/"+k.name, func(t *testing.T) {
				readKept(t, k, filepath.Join("testdata", "kept", release.Name()))
			})
		}
	}
}

// kept is what is kept beside a store: when it was written, a browser's cookie, and
// what the library shows before and after the changes of changeKept.
type kept struct {
	Written time.Time
	Cookie  string
	Before  whole.Shown
	After   whole.Shown
}

// writeKept writes a store of kind k, and what it should show, into dir.
func writeKept(t *testing.T, k kind, dir string) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, 1)
		path := filepath.Join(t.TempDir(), "store.db")
		s := open(t, path, time.Now())
		var was kept
		was.Cookie = fill(t, k, s)
		was.Written = time.Now().UTC()
		must(t, s.Close())
		name := filepath.Join(dir, k.name)
		if k.atomic {
			write(t, name+".db.gz", read(t, path))
		} else {
			write(t, name+".items.gz", dump(t, path, was.Written))
		}
		reopened := open(t, path, was.Written)
		was.Before = truth(look(t, k, reopened))
		change(t, k, reopened)
		was.After = truth(look(t, k, reopened))
		text, err := json.MarshalIndent(was, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		write(t, name+".json.gz", text)
	})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(), os.WriteFile(path, packed.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes of %d", path, packed.Len(), len(data))
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(path, ".gz") {
		return data
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if data, err = io.ReadAll(r); err != nil {
		t.Fatal(err)
	}
	return data
}

// An item is what a store keeps under one key. TTL is how long it had left when it
// was written; 0 is for ever.
type item struct {
	Key   string
	Value []byte
	TTL   time.Duration
}

// dump returns the items of a file, sorted by their keys, as lines of JSON.
func dump(t *testing.T, path string, now time.Time) []byte {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var lines bytes.Buffer
	err = db.View(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("items")).ForEach(func(key, stored []byte) error {
			it := item{Key: string(key), Value: stored[21:]}
			if end := int64(binary.BigEndian.Uint64(stored[9:])); end != 0 {
				if it.TTL = time.Unix(0, end).Sub(now); it.TTL <= 0 {
					return nil
				}
			}
			return json.NewEncoder(&lines).Encode(it)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines.Bytes()
}

// load puts the items of a dump into s.
func load(t *testing.T, s kv.Store, lines []byte) {
	t.Helper()
	eachLine(t, lines, func(it item) {
		if _, err := kv.One(ctx, s, kv.OpSet(it.Key, it.Value).For(it.TTL)); err != nil {
			t.Fatal(err)
		}
	})
}

// open opens the file at path at a time of the simulation.
func open(t *testing.T, path string, at time.Time) kv.Store {
	t.Helper()
	time.Sleep(time.Until(at))
	s, err := boltkv.Open(path, boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// keptStore returns the store of kind k that is kept in dir, at the time when it was
// written, and what is kept beside it.
func keptStore(t *testing.T, k kind, dir string) (s kv.Store, was kept) {
	t.Helper()
	name := filepath.Join(dir, k.name)
	must(t, json.Unmarshal(read(t, name+".json.gz"), &was))
	// When these stores were kept, a restored record was given a new time of creation.
	const restored = "Work w2"
	was.After[restored] = createdAt.ReplaceAllLiteralString(was.After[restored], createdAt.FindString(was.Before[restored]))
	if k.atomic {
		path := filepath.Join(t.TempDir(), "store.db")
		must(t, os.WriteFile(path, read(t, name+".db.gz"), 0o600))
		return open(t, path, was.Written), was
	}
	time.Sleep(time.Until(was.Written))
	mem := memkv.New(memkv.Options{})
	load(t, mem, read(t, name+".items.gz"))
	return mem, was
}

var createdAt = regexp.MustCompile(`"Created":"[^"]*"`)

// readKept opens a store that was kept, wants it to show what it showed then,
// changes records of each class, and wants it to show what it did after that.
func readKept(t *testing.T, k kind, dir string) {
	synctest.Test(t, func(t *testing.T) {
		s, was := keptStore(t, k, dir)
		signedIn(t, s, was.Cookie)
		compare(t, k, s, "as it was kept", was.Before)
		change(t, k, s)
		compare(t, k, s, "after changes", was.After)
		rebuild(t, k, s)
		compare(t, k, s, "after Rebuild", was.After)
	})
}

// compare asserts that s shows what is wanted, and that this is what its records say.
func compare(t *testing.T, k kind, s kv.Store, when string, want whole.Shown) {
	t.Helper()
	got, should := look(t, k, s)
	for _, difference := range want.Differences(begunAgain(got)) {
		t.Errorf("%s: %s", when, difference)
	}
	for _, difference := range should.Differences(got) {
		t.Errorf("%s: not what the records say: %s", when, difference)
	}
}

// goneOn is the version of a record that was made again, which goes on from what was deleted.
var goneOn = regexp.MustCompile(`"Version":\d{9,}`)

// begunAgain returns what is shown as the releases before showed it, where such a record began
// at version 1.
func begunAgain(shown whole.Shown) whole.Shown {
	as := make(whole.Shown)
	for question, answer := range shown {
		as[question] = goneOn.ReplaceAllString(answer, `"Version":1`)
	}
	return as
}

// process opens the library in s as a process that nothing goes wrong with, and
// closes it after work.
func process(t *testing.T, k kind, s kv.Store, work func(*whole.Library)) {
	t.Helper()
	l, err := whole.Open(k.opened(s))
	must(t, err)
	defer l.DB.Close(ctx) // if work fails
	work(l)
	must(t, l.DB.Flush(ctx))
	time.Sleep(time.Minute) // Numbers that are counted again need a while.
	must(t, l.DB.Close(ctx))
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// look repairs what dead processes have left, and returns what the library shows,
// which must be what its records say. An index that asks for a rebuild gets one.
func look(t *testing.T, k kind, s kv.Store) (shown, should whole.Shown) {
	t.Helper()
	process(t, k, s, func(l *whole.Library) {
		for _, wait := range []time.Duration{0, time.Minute, time.Minute, 2 * time.Hour, time.Minute} {
			time.Sleep(wait)
			must(t, l.DB.Repair(ctx))
		}
		must(t, l.DB.Flush(ctx))
		shown = l.Look(ctx)
		if asks(shown) {
			rebuildAll(t, l)
			shown = l.Look(ctx)
		}
		var err error
		should, err = l.Should(ctx)
		must(t, err)
	})
	return shown, should
}

// truth returns what is to be shown: what the records say where they say something,
// and otherwise what was shown.
func truth(shown, should whole.Shown) whole.Shown {
	maps.Copy(shown, should)
	for _, question := range []string{"At", "Len", "Page"} {
		delete(shown, "Work TopLikes "+question) // They depend on which works had likes once.
	}
	return shown
}

// asks reports whether an index needs a rebuild.
func asks(shown whole.Shown) bool {
	for _, answer := range shown {
		if answer == whole.NeedsRebuild {
			return true
		}
	}
	return false
}

func rebuild(t *testing.T, k kind, s kv.Store) {
	t.Helper()
	process(t, k, s, func(l *whole.Library) { rebuildAll(t, l) })
}

func rebuildAll(t *testing.T, l *whole.Library) {
	t.Helper()
	for _, m := range l.All() {
		must(t, m.Rebuild(ctx))
	}
	must(t, l.Works.TopPrice.Rebuild(ctx), l.Scores.Rebuild(ctx))
}

var key = bytes.Repeat([]byte("k"), 32)

func sessions(t *testing.T, s kv.Store) *kvsession.Store {
	t.Helper()
	store, err := kvsession.New(s, kvsession.Options{Keys: [][]byte{key}})
	must(t, err)
	return store
}

// signIn signs a user in, and returns the cookie.
func signIn(t *testing.T, s kv.Store, user string) string {
	t.Helper()
	store, w, r := sessions(t, s), httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	session, err := store.Get(r, "app")
	must(t, err)
	session.Values["color"] = "green"
	session.Values["since"] = time.Now().UTC()
	session.AddFlash("welcome")
	must(t, store.SignIn(r, w, session, user))
	cookies := w.Result().Cookies()
	return cookies[len(cookies)-1].Value
}

// signedIn asserts that the cookie is still good, and changes its session.
func signedIn(t *testing.T, s kv.Store, cookie string) {
	t.Helper()
	store, w, r := sessions(t, s), httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
	r.AddCookie(&http.Cookie{Name: "app", Value: cookie})
	session, err := store.Get(r, "app")
	must(t, err)
	infos, err := store.List(ctx, "u1")
	must(t, err)
	if session.Values["color"] != "green" || store.User(session) != "u1" || len(session.Flashes()) != 1 || len(infos) != 2 {
		t.Errorf("the session has %v, is of %q, one of %d", session.Values, store.User(session), len(infos))
	}
	session.Values["color"] = "blue"
	must(t, store.Save(r, w, session), store.RevokeAll(ctx, "u1"))
	if infos, err = store.List(ctx, "u1"); err != nil || len(infos) != 0 {
		t.Errorf("after RevokeAll %d sessions, %v", len(infos), err)
	}
}

// dying is a store that a process loses when it dies: after left more ops nothing
// is carried out.
type dying struct {
	kv.Store
	left atomic.Int64
}

func (d *dying) Powers() kv.Powers { return kv.PowersOf(d.Store) }

func (d *dying) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if d.left.Add(-1) < 0 {
			return kv.Fail(ops[i:], kv.ErrUnavailable)
		}
		_ = d.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

// die lets a process do work and then die, so many ops after work has begun.
func die(t *testing.T, k kind, s kv.Store, ops int64, warm, work func(*whole.Library)) {
	t.Helper()
	store := &dying{Store: k.opened(s)}
	store.left.Store(1 << 40)
	l, err := whole.Open(store)
	must(t, err)
	warm(l)
	must(t, l.DB.Flush(ctx))
	store.left.Store(ops)
	work(l)
	time.Sleep(time.Second)
	store.left.Store(0)
	_ = l.DB.Close(ctx)
}

// waiting lets a process end whose OnChange has failed, so that the change stays in
// its journal.
func waiting(t *testing.T, k kind, s kv.Store) {
	t.Helper()
	l, err := whole.Open(k.opened(s))
	must(t, err)
	l.Tickets.OnChange(func(context.Context, kvmodel.Change[whole.Ticket, int64]) error { return errors.New("not now") })
	must(t, l.Tickets.Create(ctx, &whole.Ticket{Text: "no"}))
	brief, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = l.DB.Close(brief)
}

// fill writes a record of each class and returns the cookie of a session. What is kept
// for Redis was closed by all its processes; for memcached, some were killed.
func fill(t *testing.T, k kind, s kv.Store) (cookie string) {
	fillBefore(t, k, s)
	process(t, k, s, func(l *whole.Library) { fillWorks(t, l) })
	process(t, k, s, func(l *whole.Library) { fillOffers(t, l) })
	process(t, k, s, func(l *whole.Library) { fillOthers(t, l) })
	process(t, k, s, func(l *whole.Library) { fillPieces(t, l) })
	time.Sleep(24 * time.Hour)
	process(t, k, s, func(l *whole.Library) { changeWorks(t, l) })
	signIn(t, s, "u1")
	cookie = signIn(t, s, "u1")
	if k.name != "redis" {
		waiting(t, k, s)
	}
	if k.name == "memcached" {
		touch := func(l *whole.Library) {
			editWork(t, l, "w0", func(w *whole.Work) { w.Marks = append(w.Marks, "touched") })
		}
		for i, ops := range []int64{3, 12, 30} {
			die(t, k, s, ops, touch, func(l *whole.Library) {
				_, _ = l.Works.Update(ctx, fmt.Sprint("w", i), func(w *whole.Work) error {
					w.Title, w.Price, w.Tags, w.Slug = "dying", 77, []string{"green"}, fmt.Sprint("dying", i)
					return nil
				})
				_ = l.Likes.Create(ctx, &whole.Like{User: "u4", Work: fmt.Sprint("w", i)})
			})
		}
	}
	return cookie
}

// fillBefore makes works as the earlier release of the app did.
func fillBefore(t *testing.T, k kind, s kv.Store) {
	t.Helper()
	db, err := kvmodel.Open(k.opened(s))
	must(t, err)
	m := before.New(db)
	for i := range 5 {
		must(t, m.Works.Create(ctx, &before.Work{
			ID: fmt.Sprint("w", i), Slug: fmt.Sprint("old", i), Author: "ann", Tags: []string{"red", "blue"}, Room: "east", Shelf: i % 2,
			Title: fmt.Sprint("Old ", i), Note: "n", Price: int64(10 * i), Grade: float64(i) + 0.5,
			Taken: time.Date(1999, 1, 1+i, 0, 0, 0, 0, time.UTC), Marks: []string{"v1"},
		}))
		for range i {
			_, err := m.Works.Views.Hit(ctx, fmt.Sprint("w", i))
			must(t, err)
		}
	}
	must(t, db.Close(ctx))
}

func fillWorks(t *testing.T, l *whole.Library) {
	for i := 5; i < 12; i++ {
		must(t, l.Works.Create(ctx, &whole.Work{
			ID: fmt.Sprint("w", i), Slug: fmt.Sprint("new", i), Author: whole.Authors[i%3], Tags: whole.Tags[:i%4], Room: whole.Rooms[i%2], Shelf: i / 2 % 2,
			Title: fmt.Sprint("New ", i), Note: fmt.Sprint(i), Price: int64(7*i - 60), Grade: float64(i / 2),
			Taken: time.Date(1999, 2, 1+i, 0, 0, 0, 0, time.UTC), Frame: "ash", Marks: []string{"v2"},
		}))
		for range 2 * i {
			_, err := l.Works.Views.Hit(ctx, fmt.Sprint("w", i))
			must(t, err)
		}
	}
	for i, user := range whole.Users {
		for j := range whole.WorkIDs[:2+2*i] {
			must(t, l.Likes.Create(ctx, &whole.Like{User: user, Work: whole.WorkIDs[j]}))
		}
	}
}

func fillOffers(t *testing.T, l *whole.Library) {
	far := time.Now().AddDate(4, 0, 0)
	for i, id := range whole.OfferIDs {
		o := &whole.Offer{ID: id, Code: "c" + id, Kind: whole.Kinds[i%2], Price: int64(3 * i)}
		if i%3 == 0 {
			o.Until = far
		}
		must(t, l.Offers.Create(ctx, o))
	}
	must(t, l.Offers.Create(ctx, &whole.Offer{ID: "ended", Code: "ended", Kind: "sale", Price: 4, Until: time.Now().Add(time.Hour)}))
	// More than a leaf of a board holds.
	var many []*whole.Offer
	for i := range 150 {
		many = append(many, &whole.Offer{ID: fmt.Sprint("x", i), Kind: "swap", Price: int64(i * i % 97)})
	}
	must(t, l.Offers.CreateMulti(ctx, many))
}

func fillOthers(t *testing.T, l *whole.Library) {
	for i := range 7 {
		must(t, l.Tickets.Create(ctx, &whole.Ticket{Text: whole.Texts[i%2]}))
		for _, owner := range whole.Owners {
			guest := fmt.Sprint("g", i%4)
			must(t,
				l.Visits.Push(ctx, whole.Visit{Owner: owner, Guest: guest}),
				l.Glances.Push(ctx, whole.Glance{Owner: owner, Guest: guest}),
				l.Notices.Push(ctx, whole.Notice{To: owner, Text: fmt.Sprint("t", i), About: fmt.Sprint(i % 3)}),
				l.Shots.Push(ctx, whole.Shot{Of: owner, Text: fmt.Sprint("s", i)}),
			)
			time.Sleep(time.Minute)
		}
		text := fmt.Sprint("entry", i)
		_, err := l.Log.Add(ctx, &text)
		must(t, err, l.Scores.Set(ctx, fmt.Sprint("m", i), int64(i*i%5)), l.Scores.Add(ctx, fmt.Sprint("m", i/2), 3))
	}
	must(t, l.Tickets.Delete(ctx, 3), l.Scores.Delete(ctx, "m6"))
	must(t, l.Topics.Of("rain").Add(ctx, "a", "b", "c"), l.Topics.Of("rain").Remove(ctx, "b"))
	// More than a segment holds.
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprintf("%04d", i))
	}
	for some := range slices.Chunk(many, 250) {
		must(t, l.Topics.Of("moss").Add(ctx, some...))
	}
}

// fillPieces makes pieces that share tags and stars, and changes some of them.
func fillPieces(t *testing.T, l *whole.Library) {
	for i, id := range whole.PieceIDs[:5] {
		must(t, l.Pieces.Create(ctx, &whole.Piece{ID: id, Tags: whole.Tags[i%2 : 2+i%2], Stars: int64(i / 2)}))
		time.Sleep(time.Minute)
	}
	editPiece(t, l, "p1", func(p *whole.Piece) { p.Tags, p.Stars = whole.Tags, 2 })
	must(t, l.Pieces.Delete(ctx, "p3"))
}

func editPiece(t *testing.T, l *whole.Library, id string, edit func(*whole.Piece)) {
	t.Helper()
	_, err := l.Pieces.Upsert(ctx, id, func(p *whole.Piece) error { edit(p); return nil })
	must(t, err)
}

func editWork(t *testing.T, l *whole.Library, id string, edit func(*whole.Work)) {
	t.Helper()
	_, err := l.Works.Update(ctx, id, func(w *whole.Work) error { edit(w); return nil })
	must(t, err)
}

// changeWorks changes, deletes, restores and makes again.
func changeWorks(t *testing.T, l *whole.Library) {
	editWork(t, l, "w1", func(w *whole.Work) { w.Title, w.Price, w.Slug = "Changed", 15, "changed" })
	editWork(t, l, "w6", func(w *whole.Work) { w.Author, w.Tags, w.Room = "cy", []string{"blue"}, "west" })
	must(t, l.Works.Delete(ctx, "w11"), l.Works.Delete(ctx, "w10"), l.Works.Delete(ctx, "w9"), l.DB.Flush(ctx))
	_, err := l.Works.History.Restore(ctx, "w10", 1)
	must(t, err, l.Works.Create(ctx, &whole.Work{ID: "w9", Slug: "again", Author: "bob", Title: "Again", Price: 1, Marks: []string{"again"}}))
	must(t, l.Likes.Delete(ctx, whole.LikeID{User: "u1", Work: "w0"}), l.Offers.Delete(ctx, "f5"))
	for _, id := range []string{"w1", "w6", "w9", "w9"} {
		_, err := l.Works.Views.Hit(ctx, id)
		must(t, err)
	}
	must(t, l.Offers.Create(ctx, &whole.Offer{ID: "soon", Code: "soon", Kind: "sale", Price: 5, Until: time.Now().Add(3 * time.Hour)}))
}

// change changes records and the rest of each class.
func change(t *testing.T, k kind, s kv.Store) {
	process(t, k, s, func(l *whole.Library) {
		for _, id := range []string{"w0", "w4", "w7"} {
			editWork(t, l, id, func(w *whole.Work) {
				w.Slug, w.Author, w.Tags, w.Room = "after"+id, "bob", []string{"green", "red"}, "west"
				w.Title, w.Note, w.Price, w.Grade = "After", "after", w.Price+11, 1.25
				w.Taken, w.Marks = w.Taken.Add(24*time.Hour), append(w.Marks, "after")
			})
			_, err := l.Works.Views.Add(ctx, id, 5)
			must(t, err)
		}
		must(t, l.Works.Delete(ctx, "w2"), l.Works.Delete(ctx, "w5"))
		_, err := l.Works.History.Restore(ctx, "w2", 1)
		must(t, err)
		must(t,
			l.Works.Create(ctx, &whole.Work{ID: "w11", Slug: "new11", Author: "ann", Title: "Eleven", Price: 5}),
			l.Likes.Delete(ctx, whole.LikeID{User: "u2", Work: "w1"}),
			l.Likes.Create(ctx, &whole.Like{User: "u1", Work: "w8"}),
			l.Offers.Delete(ctx, "f0"),
			l.Offers.Put(ctx, &whole.Offer{ID: "f1", Code: "cf0", Kind: "sale", Price: 50}),
			l.Tickets.Create(ctx, &whole.Ticket{Text: "yes"}),
			l.Tickets.Delete(ctx, 1),
			l.Topics.Of("moss").Add(ctx, "more"),
			l.Topics.Of("moss").Remove(ctx, "0007"),
			l.Topics.Of("rain").Remove(ctx, "a"),
			l.Scores.Set(ctx, "m1", 9),
			l.Scores.Delete(ctx, "m0"),
		)
		for _, owner := range whole.Owners {
			must(t,
				l.Visits.Push(ctx, whole.Visit{Owner: owner, Guest: "last"}),
				l.Glances.Push(ctx, whole.Glance{Owner: owner, Guest: "last"}),
				l.Notices.Push(ctx, whole.Notice{To: owner, Text: "last", About: "2"}),
				l.Shots.Push(ctx, whole.Shot{Of: owner, Text: "last"}),
			)
		}
		text := "last"
		_, err = l.Log.Add(ctx, &text)
		must(t, err)
		changePieces(t, l)
	})
}

// changePieces changes pieces, of which stores that were kept before there were any have
// none.
func changePieces(t *testing.T, l *whole.Library) {
	for i, id := range []string{"p0", "p3", "p5"} {
		editPiece(t, l, id, func(p *whole.Piece) { p.Tags, p.Stars = whole.Tags[i:], 1 })
		time.Sleep(time.Minute)
	}
	if err := l.Pieces.Delete(ctx, "p1"); err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
		t.Fatal(err)
	}
}
