package inspect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// thing is what a build is about.
type thing struct{ ID, Shelf, Box, Code string }

// things is the data class of things. Of the indexes, an earlier release has ByShelf alone.
type things struct {
	*kvmodel.Records[thing, string]
	byShelf, byBox *index.Lists[thing, string, string]
	byCode         *index.Unique[thing, string]
}

func earlierThings(db *kvmodel.DB) things {
	r := kvmodel.NewRecords(db, kvmodel.Schema[thing, string]{
		Name: "Thing", Version: 1,
		ID: func(v *thing) string { return v.ID }, SetID: func(v *thing, id string) { v.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packed[thing]{},
	})
	return things{Records: r, byShelf: index.NewLists(r, thingsBy("Shelf", func(v *thing) string { return v.Shelf }))}
}

func newThings(db *kvmodel.DB) things {
	v := earlierThings(db)
	v.byBox = index.NewLists(v.Records, thingsBy("Box", func(v *thing) string { return v.Box }))
	v.byCode = index.NewUnique(v.Records, thingsBy("Code", func(v *thing) string { return v.Code }))
	return v
}

func thingsBy(field string, value func(*thing) string) kvmodel.IndexSpec[thing, string] {
	return kvmodel.IndexSpec[thing, string]{
		Name: "By" + field, Fields: []string{field}, Key: kvmodel.StringKey[string](),
		Values: func(v *thing) []string { return []string{value(v)} },
	}
}

const shelfSize = 20

// base is a thing that stays as it is, of which there are many.
func base(i int) *thing {
	return &thing{ID: baseID(i), Shelf: fmt.Sprint("shelf-", i/shelfSize), Box: fmt.Sprint("box-", i/shelfSize), Code: baseCode + fmt.Sprint(i)}
}

func baseID(i int) string { return fmt.Sprintf("base-%06d", i) }

const baseCode = "base-code-"

// stock makes n things, by the earlier release.
func stock(t testing.TB, s kv.Store, n int) {
	t.Helper()
	db := open(t, s)
	all := earlierThings(db)
	for some := range slices.Chunk(slices.Collect(upTo(n)), 2000) {
		var made []*thing
		for _, i := range some {
			made = append(made, base(i))
		}
		must(t, all.CreateMulti(t.Context(), made))
	}
	must(t, db.Close(t.Context()))
}

func upTo(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n && yield(i); i++ {
		}
	}
}

// tally is what readers were answered.
type tally struct {
	Right, Building, Wrong int64
	First                  string // of what was wrong
}

func (a *tally) add(b tally) {
	a.Right, a.Building, a.Wrong = a.Right+b.Right, a.Building+b.Building, a.Wrong+b.Wrong
	if a.First == "" {
		a.First = b.First
	}
}

// crowd is writers, each of whom reads its own things, and the things that nobody changes.
type crowd struct {
	all things
	n   int // of things that stay

	mu sync.Mutex
	tally
}

const crowdSize = 16

// run lets the crowd work until ctx ends. Each rests for a moment after each round.
func (c *crowd) run(ctx context.Context, rest time.Duration) {
	var ends sync.WaitGroup
	for who := range crowdSize {
		ends.Go(func() {
			r := rand.New(rand.NewPCG(uint64(who), uint64(c.n)))
			for round := 0; ctx.Err() == nil; round++ {
				c.round(context.WithoutCancel(ctx), who, round, r.IntN(c.n))
				kv.Sleep(ctx, rest)
			}
		})
	}
	ends.Wait()
}

// round moves the thing of one of the crowd, and reads that and another.
func (c *crowd) round(ctx context.Context, who, round, other int) {
	at := func(place string, round int) string { return fmt.Sprintf("%s-of-%d-%d", place, who, round%2) }
	own := &thing{ID: fmt.Sprint("own-", who), Shelf: at("shelf", round), Box: at("box", round), Code: fmt.Sprint("own-", who, "-", round)}
	if err := c.all.Put(ctx, own); err != nil {
		c.judge(false, "put", err)
		return
	}
	c.page(ctx, c.all.byShelf, own.Shelf, []string{own.ID}, false)
	c.page(ctx, c.all.byShelf, at("shelf", round+1), nil, false)
	c.page(ctx, c.all.byBox, own.Box, []string{own.ID}, true)
	c.page(ctx, c.all.byBox, at("box", round+1), nil, true)
	c.find(ctx, own)
	b := base(other)
	var ids []string
	for i := range shelfSize {
		ids = append(ids, baseID(other/shelfSize*shelfSize+i))
	}
	c.page(ctx, c.all.byShelf, b.Shelf, ids, false)
	c.page(ctx, c.all.byBox, b.Box, ids, true)
	c.find(ctx, b)
}

// page reads a page, which is to hold ids. One of a new index may be told to be under construction.
func (c *crowd) page(ctx context.Context, by *index.Lists[thing, string, string], of string, ids []string, isNew bool) {
	page, err := by.Of(of).Page(ctx, "", 2*shelfSize)
	var got []string
	for _, v := range page.Items {
		got = append(got, v.ID)
	}
	slices.Sort(got)
	if err == nil && !slices.Equal(got, ids) {
		err = fmt.Errorf("%q instead of %q", got, ids)
	}
	c.judge(isNew, of, err)
}

// find finds v by its code.
func (c *crowd) find(ctx context.Context, v *thing) {
	got, err := c.all.byCode.Find(ctx, v.Code)
	if err == nil && got.ID != v.ID {
		err = fmt.Errorf("%s instead of %s", got.ID, v.ID)
	}
	c.judge(true, v.Code, err)
}

func (c *crowd) judge(isNew bool, what string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil:
		c.Right++
	case isNew && errors.Is(err, kvmodel.ErrNeedsRebuild):
		c.Building++
	default:
		c.add(tally{Wrong: 1, First: fmt.Sprintf("%s: %v", what, err)})
	}
}

func (c *crowd) said() tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tally
}

// entering is a store that counts the things that stay as a build enters them in ByCode.
type entering struct {
	kv.Store
	n    *atomic.Int64
	rest time.Duration // what a trip takes
	most int64         // nothing more is carried out once so many are entered
}

var errKilled = fmt.Errorf("%w: killed", kv.ErrUnavailable)

func (e entering) Powers() kv.Powers {
	p := kv.PowersOf(e.Store)
	if whole := p.Atomic; whole != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return whole(ctx, func(s kv.Store) error { return f(entering{s, e.n, e.rest, e.most}) })
		}
	}
	return p
}

func (e entering) Do(ctx context.Context, ops []kv.Op) error {
	if e.n.Load() >= e.most {
		return kv.Fail(ops, errKilled)
	}
	for _, op := range ops {
		if op.Kind == kv.Add && strings.HasPrefix(op.Key, "u:Thing:ByCode:"+baseCode) {
			e.n.Add(1)
		}
	}
	if e.rest > 0 {
		time.Sleep(e.rest)
	}
	err := e.Store.Do(ctx, ops)
	if e.n.Load() >= e.most {
		return kv.Fail(ops, errKilled) // It was carried out, and nobody hears of it.
	}
	return err
}

// killedBuilds is how often a build is killed, and of how many things.
type killedBuilds struct{ kills, n int }

// lives returns how many things each process enters before it is killed, all together not all.
func (k killedBuilds) lives() (all []int64) {
	r := rand.New(rand.NewPCG(7, uint64(k.kills)))
	for range k.kills {
		all = append(all, int64(float64(k.n)/float64(k.kills+1)*(0.6+0.7*r.Float64())))
	}
	return all
}

// judge says what has come of it: entered is how many things were entered by all builds.
func (k killedBuilds) judge(t *testing.T, name string, entered int64, said tally) {
	t.Helper()
	t.Logf("%s: %d things, %d kills: %.3f times the work; readers were answered %d times right, %d times that it is being built, %d times wrong",
		name, k.n, k.kills, float64(entered)/float64(k.n), said.Right, said.Building, said.Wrong)
	// In a file they wait instead of being told.
	if said.Wrong > 0 || said.Right == 0 || said.Building == 0 && name != "file" {
		t.Errorf("%s: %+v", name, said)
	}
	// What one has entered since it last said so before its death is not known.
	if work := float64(entered) / float64(k.n); work > 1.2 {
		t.Errorf("%s: %v times the work of one build", name, work)
	}
}

func buildThings(open func(context.Context, string) (kv.Store, error)) inspect.Config {
	c := on(nil, "build", "--yes")
	c.Models, c.Open = func(db *kvmodel.DB) []kvmodel.Model { return []kvmodel.Model{newThings(db)} }, open
	return c
}

// inMemory kills builds in a store in memory: from one moment on, what they ask is not carried
// out.
func (k killedBuilds) inMemory(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	stock(t, shared(mem), k.n)
	time.Sleep(time.Minute)
	db := open(t, shared(mem))
	c := &crowd{all: newThings(db), n: k.n}
	ctx, stop := context.WithCancel(t.Context())
	var ends sync.WaitGroup
	ends.Go(func() { c.run(ctx, time.Second/2) })
	entered := int64(0)
	build := func(most int64) ran {
		var n atomic.Int64
		defer func() { entered += n.Load() }()
		return runIn(ctx, buildThings(func(context.Context, string) (kv.Store, error) {
			return entering{shared(mem), &n, 10 * time.Millisecond, most}, nil
		}))
	}
	for _, most := range k.lives() {
		if r := build(most); r.code == 0 {
			t.Error("it was not killed:", r.out, r.errs)
		}
	}
	build(1<<60).want(t, 0, "Thing: built")
	time.Sleep(time.Second)
	stop()
	ends.Wait()
	must(t, db.Close(t.Context()))
	k.judge(t, "memory", entered, c.said())
	check := buildThings(func(context.Context, string) (kv.Store, error) { return shared(mem), nil })
	check.Args = []string{"check"}
	runIn(t.Context(), check).want(t, 0, "all is well")
}

// beginApp is an app with a file that builds until it is killed. A crowd works in it.
func beginApp(ctx context.Context, path string, say *json.Encoder) int {
	var n atomic.Int64
	things := len(must1(os.ReadFile(path + ".things")))
	db := must1(kvmodel.Open(entering{must1(kvopen.Store(ctx, "bolt:"+path+"?durability=unsynced")), &n, 0, math.MaxInt64}))
	c := &crowd{all: newThings(db), n: things}
	must1(inspect.Serve(ctx, db, path))
	defer tell(say, func() lived { return lived{n.Load(), c.said()} })()
	working, stop := context.WithCancel(ctx)
	var ends sync.WaitGroup
	ends.Go(func() { c.run(working, time.Millisecond) })
	build := buildThings(nil)
	build.URL, build.Stdout = "bolt:"+path, os.Stderr
	code := inspect.Run(ctx, build)
	kv.Sleep(ctx, time.Second)
	stop()
	ends.Wait()
	return code
}

// lived is what a process has come to.
type lived struct {
	Entered int64
	Said    tally
}

// untilKilled lets the process that goes by name on what live until it has entered most things,
// and reports whether it has ended by itself.
func untilKilled(t *testing.T, name, what string, most int64) (last lived, ended bool) {
	t.Helper()
	p := begin(t, name, what)
	for p.says.Decode(&last) == nil {
		if last.Entered >= most {
			p.kill(t)
			return last, false
		}
	}
	must(t, p.cmd.Wait())
	return last, true
}

func TestMatrix_OfKilledBuilds_NoPageIsWrong(t *testing.T) {
	memory, file := killedBuilds{2, 4_000}, killedBuilds{1, 1_000}
	if proof.All() {
		memory, file = manyKilled, manyKilled
	}
	synctest.Test(t, memory.inMemory)
	file.inFile(t)
}

var manyKilled = killedBuilds{20, 100_000}

// inFile kills apps that build in their file, one after the other, unless they are done before that.
func (k killedBuilds) inFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "app.db")
	must(t, os.WriteFile(path+".things", make([]byte, k.n), 0o600))
	stock(t, boltStore(t, "bolt:"+path+"?durability=unsynced"), k.n)
	var in lived
	kills, ended := 0, false
	for _, most := range append(k.lives(), math.MaxInt64) {
		var last lived
		last, ended = untilKilled(t, "app", path, most)
		in.Entered += last.Entered
		in.Said.add(last.Said)
		if ended {
			break
		}
		kills++
	}
	if kills == 0 || !ended {
		t.Errorf("%d processes were killed, and the last has ended: %t", kills, ended)
	}
	k.judge(t, "file", in.Entered, in.Said)
	check := buildThings(nil)
	check.Args, check.URL = []string{"check"}, "bolt:"+path
	runIn(t.Context(), check).want(t, 0, "all is well")
}
