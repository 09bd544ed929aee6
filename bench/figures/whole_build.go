package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/timeline"
)

// wholeBuild reports what it takes to build an index over many records while requests
// of a second each want to read it, in a process that is killed again and again.
func wholeBuild(b *bench) error {
	return errors.Join(
		b.buildKilled("unique", b.size(1_000_000), 5*time.Second),
		b.buildKilled("list", b.size(100_000), 2*time.Second),
		b.buildKilled("timeline", b.size(100_000), 2*time.Second),
	)
}

// page is a record of a large model.
type page struct{ ID, Slug string }

type pageCodec struct{}

func (pageCodec) Append(dst []byte, p *page) ([]byte, error) {
	data, err := json.Marshal(p)
	return append(dst, data...), err
}
func (pageCodec) Unmarshal(data []byte, p *page) (bool, error) { return false, json.Unmarshal(data, p) }
func (pageCodec) Merge(_, next []byte) ([]byte, error)         { return next, nil }

func pages(db *kvmodel.DB) *kvmodel.Records[page, string] {
	return kvmodel.NewRecords(db, kvmodel.Schema[page, string]{
		Name: "Page", Version: 1,
		ID: func(p *page) string { return p.ID }, SetID: func(p *page, id string) { p.ID = id },
		Key: kvmodel.StringKey[string](), Codec: pageCodec{},
	})
}

// A pageIndex is the index of pages that is built.
type pageIndex struct {
	ask func(ctx context.Context, i int) error         // reads a little of it
	has func(ctx context.Context, i int) (bool, error) // page i
}

// indexedPages returns pages with an index of that kind.
func indexedPages(db *kvmodel.DB, kind string) (*kvmodel.Records[page, string], pageIndex) {
	r := pages(db)
	switch kind {
	case "list":
		return r, listedPages(r)
	case "timeline":
		return r, newestPages(r)
	}
	by := index.NewUnique(r, pagesBy(func(p *page) string { return p.Slug }))
	return r, pageIndex{
		func(ctx context.Context, i int) error { _, err := by.Find(ctx, slugOf(i)); return err },
		func(ctx context.Context, i int) (bool, error) {
			p, err := by.Find(ctx, slugOf(i))
			return err == nil && p.Slug == slugOf(i), err
		},
	}
}

func pagesBy(value func(*page) string) kvmodel.IndexSpec[page, string] {
	return kvmodel.IndexSpec[page, string]{
		Name: "BySlug", Fields: []string{"Slug"}, Key: kvmodel.StringKey[string](),
		Values: func(p *page) []string { return []string{value(p)} },
	}
}

// listedPages returns lists of ten pages each.
func listedPages(r *kvmodel.Records[page, string]) pageIndex {
	part := func(slug string) string { return slug[:len(slug)-1] }
	by := index.NewLists(r, pagesBy(func(p *page) string { return part(p.Slug) }))
	return pageIndex{
		func(ctx context.Context, i int) error { _, err := by.Of(part(slugOf(i))).Page(ctx, "", 20); return err },
		func(ctx context.Context, i int) (bool, error) {
			l, err := by.Of(part(slugOf(i))).Page(ctx, "", 20)
			return slices.ContainsFunc(l.Items, func(p *page) bool { return p.Slug == slugOf(i) }), err
		},
	}
}

// newestPages returns a timeline of up to 200,000 pages.
func newestPages(r *kvmodel.Records[page, string]) pageIndex {
	by := timeline.NewRing(r, timeline.Spec[page]{
		Name: "BySlug", Def: "timeline Slug", Shape: timeline.Shape{Size: 200_000},
		Value: func(p *page) string { return p.Slug }, Order: func(p *page) any { return p.Slug },
	})
	var all map[string]bool
	return pageIndex{
		func(ctx context.Context, _ int) error { _, err := by.Page(ctx, "", 20); return err },
		func(ctx context.Context, i int) (bool, error) {
			if all == nil {
				all = make(map[string]bool)
				for p, err := range by.All(ctx) {
					if err != nil {
						return false, err
					}
					all[p.Slug] = true
				}
			}
			return all[slugOf(i)], nil
		},
	}
}

func slugOf(i int) string { return fmt.Sprint("page-", i) }

// buildKilled builds an index of that kind over n records twice: in one go, and in
// processes that live for life each. What is built beside the walk over all records reads
// these again in each process.
func (b *bench) buildKilled(kind string, n int, life time.Duration) error {
	file := filepath.Join(b.dir, kind+".db")
	if err := b.fillPages(file, n); err != nil {
		return err
	}
	whole := filepath.Join(b.dir, kind+"-whole.db")
	if err := copyFile(whole, file); err != nil {
		return err
	}
	once := &killedBuild{b: b, kind: kind, file: whole}
	if err := once.run(time.Hour); err != nil {
		return err
	}
	k := &killedBuild{b: b, kind: kind, file: file}
	if err := k.run(life); err != nil {
		return err
	}
	missing, err := b.missingPages(kind, file, n)
	if err != nil {
		return err
	}
	work := atMost(1.2)
	if kind != "unique" {
		work = target{}
	}
	say := func(what string, value float64, t target) { b.report(kind+": "+what, value, t) }
	say("records of the build", float64(n), target{}.varying())
	say("seconds of one build in one go", once.took.Seconds(), target{}.in("s"))
	say("kills of a build", float64(k.kills), target{}.varying())
	say("seconds of the processes in all", k.took.Seconds(), target{}.in("s"))
	say("entered in all, to one build in one go", float64(k.entered)/float64(once.entered), atMost(1.2).ratio())
	say("work in all, to one build in one go", k.built.Seconds()/once.built.Seconds(), work.ratio())
	say("longest request of 1 second, seconds", max(k.longest, once.longest).Seconds(), atMost(1.1).in("s"))
	say("longest Create during a build, seconds", max(k.create, once.create).Seconds(), atMost(1.1).in("s"))
	say("records that the index does not find", float64(missing), exactly(0))
	return nil
}

func openFile(file string, opts boltkv.Options) (*kvmodel.DB, error) {
	s, err := boltkv.Open(file, opts)
	if err != nil {
		return nil, err
	}
	return kvmodel.Open(s, kvmodel.Log(slog.New(slog.DiscardHandler)))
}

// fillPages makes n records without an index.
func (b *bench) fillPages(file string, n int) error {
	db, err := openFile(file, boltkv.Options{Durability: boltkv.Unsynced})
	if err != nil {
		return err
	}
	r := pages(db)
	for first := 0; first < n && err == nil; first += 10_000 {
		var some []*page
		for i := first; i < min(n, first+10_000); i++ {
			some = append(some, &page{Slug: slugOf(i)})
		}
		err = r.CreateMulti(b.ctx, some)
	}
	return errors.Join(err, db.Close(b.ctx))
}

// missingPages returns how many of some records the index does not find.
func (b *bench) missingPages(kind, file string, n int) (missing int, err error) {
	db, err := openFile(file, boltkv.Options{})
	if err != nil {
		return 0, err
	}
	_, by := indexedPages(db, kind)
	for range min(n, 10_000) {
		if found, err := by.has(b.ctx, rand.IntN(n)); err != nil || !found {
			missing++
		}
	}
	return missing, db.Close(b.ctx)
}

// copyFile copies a file, and syncs the copy.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}

// killedBuild is a build by processes that are killed.
type killedBuild struct {
	b          *bench
	kind, file string

	kills   int
	took    time.Duration // from the start of each process to its end
	built   time.Duration // of this, with the store open
	entered int64
	longest time.Duration // of the requests
	create  time.Duration // of the Creates
}

// run starts processes, and kills each after life, until one has built the index. After
// one that has not come to anything, on a machine that is busy, the next lives longer.
func (k *killedBuild) run(life time.Duration) error {
	for ; k.kills < 1000; k.kills++ {
		before := k.entered
		done, err := k.once(life)
		if done || err != nil {
			return err
		}
		if k.entered == before {
			life *= 2
		}
	}
	return errors.New("the build does not end")
}

// once is the life of one process. It reports whether the index was built.
func (k *killedBuild) once(life time.Duration) (done bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(k.b.ctx, life)
	defer cancel()
	child := exec.CommandContext(ctx, self)
	child.Env = append(os.Environ(), buildChild+"="+k.kind+" "+k.file)
	var wrong strings.Builder
	child.Stderr = &wrong
	out, err := child.StdoutPipe()
	if err != nil {
		return false, err
	}
	began := time.Now()
	if err := child.Start(); err != nil {
		return false, err
	}
	var said buildSaid
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var now buildSaid
		if json.Unmarshal(lines.Bytes(), &now) == nil {
			said = now
		}
	}
	ended := child.Wait()
	k.took += time.Since(began)
	k.built += said.Building
	k.entered += said.Entered
	k.longest, k.create = max(k.longest, said.Longest), max(k.create, said.Create)
	if ended != nil && ctx.Err() == nil {
		return false, fmt.Errorf("the process that builds: %w: %.500s", ended, wrong.String())
	}
	return said.Done, k.b.ctx.Err()
}

// A buildChild is a process that builds: the kind of the index and the path of its file.
const buildChild = "RINGTREE_FIGURES_BUILD_CHILD"

// buildSaid is what such a process says fifty times a second.
type buildSaid struct {
	Entered         int64         // as entering counts
	Building        time.Duration // since the store was opened
	Longest, Create time.Duration // of the requests
	Done            bool
}

// entering counts the records that are entered in BySlug, and what is read of lists.
type entering struct {
	kv.Store
	kind string
	n    *atomic.Int64
}

func (e entering) Powers() kv.Powers {
	p := kv.PowersOf(e.Store)
	if whole := p.Atomic; whole != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return whole(ctx, func(s kv.Store) error { return f(entering{s, e.kind, e.n}) })
		}
	}
	return p
}

func (e entering) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		if e.enters(op) {
			e.n.Add(1)
		}
	}
	return e.Store.Do(ctx, ops)
}

func (e entering) enters(op kv.Op) bool {
	switch e.kind {
	case "list":
		return strings.HasPrefix(op.Key, "l:Page:BySlug:page-")
	case "timeline":
		return op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "r:Page:")
	}
	return op.Kind == kv.Add && strings.HasPrefix(op.Key, "u:Page:BySlug:page-")
}

// buildUntilKilled is what such a process does.
func buildUntilKilled(what string) {
	kind, file, _ := strings.Cut(what, " ")
	err := buildUnderRequests(context.Background(), kind, file, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures: child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// buildUnderRequests opens file, in which the index has to be built, and asks it for
// records, for a second each, until it answers.
func buildUnderRequests(ctx context.Context, kind, file string, say io.Writer) error {
	bolt, err := boltkv.Open(file, boltkv.Options{})
	if err != nil {
		return err
	}
	var entered, longest, create atomic.Int64
	db, err := kvmodel.Open(entering{bolt, kind, &entered}, kvmodel.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		return err
	}
	r, by := indexedPages(db, kind)
	start := time.Now()
	tell := func(done bool) error {
		return json.NewEncoder(say).Encode(buildSaid{entered.Load(), time.Since(start), time.Duration(longest.Load()), time.Duration(create.Load()), done})
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		for kv.Sleep(ctx, 20*time.Millisecond) {
			_ = tell(false)
		}
	}()
	var built atomic.Bool
	err = together(4, 4, func(client, _ int) error {
		for i := client; !built.Load(); i += 4 {
			err := inASecond(ctx, &longest, func(ctx context.Context) error { return by.ask(ctx, i%1000) })
			switch {
			case err == nil:
				built.Store(true)
			case !errors.Is(err, kvmodel.ErrNeedsRebuild):
				return err
			default:
				kv.Sleep(ctx, time.Second/4) // It is told at once, and asks again.
			}
			err = inASecond(ctx, &create, func(ctx context.Context) error { return r.Create(ctx, &page{Slug: "new " + kv.RandomName()}) })
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	end()
	return errors.Join(tell(true), db.Close(context.Background()))
}

// inASecond calls f with a second of time, and notes in longest if it takes longer than any
// before.
func inASecond(ctx context.Context, longest *atomic.Int64, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	began := time.Now()
	err := f(ctx)
	took := int64(time.Since(began))
	for old := longest.Load(); took > old && !longest.CompareAndSwap(old, took); old = longest.Load() {
	}
	return err
}
