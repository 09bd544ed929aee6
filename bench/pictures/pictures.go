// Package pictures draws the stored form of each class of index, a change and a crash, for docs. It
// draws the keys of a store in memory with the models of package examples.
package pictures

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/examples"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/templates"
	"github.com/ringtree/ringtree/timeline"
)

var files = map[string]func(*world) (templates.Picture, error){
	"ring.svg":     ring,
	"list.svg":     list,
	"tree.svg":     tree,
	"unique.svg":   unique,
	"sequence.svg": sequence,
	"events.svg":   events,
	"write.svg":    write,
	"crash.svg":    crash,
}

// All draws all pictures, by the names of their files.
func All(ctx context.Context) (map[string][]byte, error) {
	all := map[string][]byte{}
	for name, draw := range files {
		w, err := newWorld(ctx)
		if err != nil {
			return nil, err
		}
		var file bytes.Buffer
		p, err := draw(w)
		if err == nil {
			err = templates.WriteSVG(ctx, &file, p)
		}
		if err := errors.Join(err, w.db.Close(ctx)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = file.Bytes()
	}
	file, err := depth(ctx)
	all["ranking-depth.svg"] = file
	return all, err
}

// world is a process and its store, which has the powers of a Redis server.
type world struct {
	*examples.Models
	ctx   context.Context
	clock *tour.Clock
	mem   *memkv.Store
	db    *kvmodel.DB
}

func newWorld(ctx context.Context) (*world, error) {
	clock := new(tour.Clock)
	w := &world{ctx: ctx, clock: clock, mem: memkv.New(memkv.Options{Now: clock.Now})}
	return w, w.open(w.server())
}

func (w *world) server() kv.Store {
	return stores.With{Outliving: stores.Outliving{Store: w.mem}, Has: kv.Powers{Unless: true, Keys: w.mem.Powers().Keys}}
}

// open makes w another process.
func (w *world) open(s kv.Store) (err error) {
	w.db, err = kvmodel.Open(s, kvmodel.Clock(w.clock.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
	if err == nil {
		w.Models = examples.New(w.db)
	}
	return err
}

// holds describes the value of a key in a few words.
func (w *world) holds(key string) (string, error) {
	item, err := inspect.New(w.db).Key(w.ctx, key)
	if err != nil || len(item.Lines) == 0 {
		return "", err
	}
	return item.Lines[0], nil
}

func ring(w *world) (templates.Picture, error) {
	var err error
	for i := range 900 {
		err = errors.Join(err, w.Stories.Create(w.ctx, &examples.Story{ID: fmt.Sprint("s", i), Text: "..."}))
	}
	for i := 500; i < 900; i += 9 {
		err = errors.Join(err, w.Stories.Delete(w.ctx, fmt.Sprint("s", i)))
	}
	pictures, pictured := w.Stories.Newest.Pictures(w.ctx, 1000)
	if err := errors.Join(err, pictured); err != nil {
		return nil, err
	}
	r := pictures[0]
	p := templates.RingPicture{Title: "The ring of the newest stories, as it is stored", Newest: r.Newest, Counter: r.Head}
	slots := map[timeline.Slot]templates.Slot{
		timeline.Free: templates.Unwritten, timeline.Filled: templates.Filled,
		timeline.Stale: templates.Stale, timeline.Missing: templates.Missing,
	}
	room := 0
	for _, s := range r.Segments {
		segment := templates.Segment{Name: s.Key[strings.LastIndexByte(s.Key, '.')+1:]}
		for _, slot := range s.Slots {
			segment.Slots = append(segment.Slots, slots[slot])
		}
		p.Segments = append(p.Segments, segment)
		room += len(s.Slots)
	}
	p.Counts = fmt.Sprintf("used, room for %d", room)
	return p, nil
}

var inSegment = regexp.MustCompile(`^segment of a list: (\d+) records`)

func list(w *world) (templates.Picture, error) {
	albums := make([]*examples.Album, 8000)
	for i := range albums {
		albums[i] = &examples.Album{ID: fmt.Sprintf("album%04d", i), Tags: []string{"sea"}}
	}
	// The clock advances as it is read, so a large batch would be a slow one.
	for some := range slices.Chunk(albums, 50) {
		if err := w.Albums.CreateMulti(w.ctx, some); err != nil {
			return nil, err
		}
	}
	if err := w.db.Flush(w.ctx); err != nil {
		return nil, err
	}
	p := templates.ListPicture{Title: "A list of 8,000 members, as it is stored", Room: maxSegment}
	for _, key := range w.mem.Keys() {
		item, err := inspect.New(w.db).Key(w.ctx, key)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(key, "l:Album:ByTags:sea") || len(item.Lines) == 0 {
			continue
		}
		if found := inSegment.FindStringSubmatch(item.Lines[0]); found != nil {
			n, _ := strconv.ParseInt(found[1], 10, 64)
			p.Segments = append(p.Segments, templates.ListSegment{Live: n})
		}
	}
	slices.SortFunc(p.Segments, func(a, b templates.ListSegment) int { return cmp.Compare(a.Live, b.Live) })
	for i := range p.Segments {
		p.Segments[i].Name = fmt.Sprint("segment ", i+1) // Their own names are random.
	}
	return p, nil
}

// maxSegment is about how many eight-byte members fit in a segment.
const maxSegment = 1500

func tree(w *world) (templates.Picture, error) {
	for i := range 1000 {
		id := fmt.Sprint("p", i)
		_, err := w.Photos.Views.Add(w.ctx, id, int64(i%50*i+1))
		// The picture depends on the order in which scores change.
		if err := errors.Join(err, w.Photos.Create(w.ctx, &examples.Photo{ID: id}), w.db.Flush(w.ctx)); err != nil {
			return nil, err
		}
	}
	err := w.Photos.TopViews.Refresh(w.ctx)
	t, err2 := w.Photos.TopViews.Picture(w.ctx, 64, "p539")
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	return templates.TreePicture{
		Title: "The tree of a ranking by views, as it is stored", Root: node(t.Root), Room: int64(t.Room), Way: t.Leaves[0], Goal: "way to one photo",
	}, nil
}

func node(n ranking.Node) templates.Node {
	out := templates.Node{Name: n.Name, Count: int64(n.Count), Shut: n.Closed}
	for _, below := range n.Below {
		out.Children = append(out.Children, node(below))
	}
	return out
}

func unique(w *world) (templates.Picture, error) {
	if err := w.Pages.Create(w.ctx, &examples.Page{ID: "p1", Slug: "home", Title: "Welcome"}); err != nil {
		return nil, err
	}
	claim, err := w.row("get", "u:Page:BySlug:home")
	rec, err2 := w.row("get", "r:Page:p1")
	return templates.StepsPicture{Title: "How a unique value is found", Steps: []templates.Step{
		{Name: "trip 1: whose is “home”?", Keys: []templates.StepKey{claim}},
		{Name: "trip 2: the record, which says so itself", Keys: []templates.StepKey{rec}},
	}}, errors.Join(err, err2)
}

func (w *world) row(op, key string) (templates.StepKey, error) {
	text, err := w.holds(key)
	text, _, _ = strings.Cut(text, ", ")
	return templates.StepKey{Op: op, Key: key, Holds: text}, err
}

func sequence(w *world) (templates.Picture, error) {
	for i := range 4 {
		if err := w.Bulletins.Create(w.ctx, &examples.Bulletin{Text: fmt.Sprint("number ", i+1)}); err != nil {
			return nil, err
		}
	}
	step := templates.Step{Name: "the numbers are the keys; the next one is added after the last"}
	for n := 1; n <= 4; n++ {
		row, err := w.row("", fmt.Sprint("r:Bulletin:", n))
		if err != nil {
			return nil, err
		}
		step.Keys = append(step.Keys, row)
	}
	return templates.StepsPicture{Title: "How numbered records are stored", Steps: []templates.Step{step}}, nil
}

func events(w *world) (templates.Picture, error) {
	for i := range 3 {
		if err := w.Visits.Push(w.ctx, examples.Visit{Owner: "ann", Guest: fmt.Sprint("guest", i), At: w.clock.Now()}); err != nil {
			return nil, err
		}
	}
	step := templates.Step{Name: "one key for each owner, to which events are appended"}
	for _, key := range w.mem.Keys() {
		if strings.HasPrefix(key, "e:Visit:ann") {
			item, err := inspect.New(w.db).Key(w.ctx, key)
			if err != nil {
				return nil, err
			}
			for _, line := range item.Lines {
				step.Keys = append(step.Keys, templates.StepKey{Key: key, Holds: line})
				key = ""
			}
		}
	}
	return templates.StepsPicture{Title: "How the events of an owner are stored", Steps: []templates.Step{step}}, nil
}
