package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/bench/fromsql/after"
	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	plantedAtLeast = 1000

	// byEach is how many works an author has: so many share a list, a ring and a board. The
	// name of an author is short, so that the keys of the board have it and not a hash.
	byEach = 3
)

// garden is a library, and posts with comments beside it, in which faults are planted.
type garden struct {
	*whole.Library
	posts    *after.Posts
	comments *after.Comments
	s        kv.Store
	planted  []plantedFault
}

// plantedFault is a fault, and as what it should be found.
type plantedFault struct {
	whole.Planted
	name, kind string
	lost, met  bool
}

// faults plants faults of each kind, and reports which of them a check finds, what it finds
// besides, and what a repair leaves.
func (b *bench) faults(on backend) error {
	kinds := len(whole.Plants) + 3
	each := (plantedAtLeast + kinds - 2) / (kinds - 1) // One is planted once.
	g := &garden{s: on.store}
	if err := g.furnish(b.ctx, each); err != nil {
		return err
	}
	defer g.DB.Close(context.WithoutCancel(b.ctx))
	if err := g.plant(b.ctx, each); err != nil {
		return err
	}
	in := inspect.New(g.DB)
	found, err := in.Check(b.ctx, inspect.CheckOptions{})
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%s: %d faults of %d kinds", on.name, len(g.planted), kinds)
	invented := g.meet(found.Faults)
	missed := g.missed()
	b.report(what+": not found", float64(len(missed)), exactly(0))
	b.report(what+": found and not planted", float64(len(invented)), exactly(0))
	if len(missed)+len(invented) > 0 {
		return fmt.Errorf("%s: not found: %v; not planted: %s", what, slices.Compact(missed), some(invented))
	}
	return b.repaired(in, g, what, found.Faults)
}

// repaired has faults mended, and reports what is left. While it is not known what a record
// was, a board that has lost a part cannot be filled: so damaged records are deleted, and the
// rest is mended then.
func (b *bench) repaired(in *inspect.Inspector, g *garden, what string, faults []inspect.Fault) error {
	done, err := in.Repair(b.ctx, faults, inspect.RepairOptions{})
	if err != nil {
		return err
	}
	unnamed := 0
	for _, p := range g.planted {
		if !p.lost {
			continue
		}
		if !slices.ContainsFunc(done.Left, func(f inspect.Fault) bool { return p.Has(f.ID, f.Key) }) {
			unnamed++
		}
		if err := g.Works.Delete(b.ctx, p.ID); err != nil {
			return err
		}
	}
	b.report(what+": lost, and not named by a repair", float64(unnamed), exactly(0))
	left, err := in.Check(b.ctx, inspect.CheckOptions{})
	if err != nil {
		return err
	}
	done, err = in.Repair(b.ctx, left.Faults, inspect.RepairOptions{})
	if err != nil {
		return err
	}
	b.report(what+": left once what is lost was deleted", float64(len(done.Left)), exactly(0))
	if len(done.Left) > 0 {
		return fmt.Errorf("%s: left: %s", what, some(done.Left))
	}
	if left, err = in.Check(b.ctx, inspect.CheckOptions{}); err != nil {
		return err
	}
	done, err = in.Repair(b.ctx, left.Faults, inspect.RepairOptions{})
	b.report(what+": mended by one more repair", float64(len(left.Faults)+done.Mended), exactly(0))
	return err
}

// some returns the first of faults, in words.
func some(faults []inspect.Fault) string {
	var words []string
	for _, f := range faults[:min(len(faults), 5)] {
		words = append(words, fmt.Sprintf("%s %s.%s %s %s", f.Kind, f.Model, f.Index, f.ID, f.Text))
	}
	return strings.Join(words, "; ")
}

// meet notes which planted faults are among faults, and returns those that none of them
// explains.
func (g *garden) meet(faults []inspect.Fault) (others []inspect.Fault) {
	for _, f := range faults {
		explained := false
		for i := range g.planted {
			if p := &g.planted[i]; p.Has(f.ID, f.Key) {
				explained = true
				p.met = p.met || p.kind == f.Kind
			}
		}
		if !explained {
			others = append(others, f)
		}
	}
	return others
}

// missed returns the names of the planted faults that were not found.
func (g *garden) missed() (names []string) {
	for _, p := range g.planted {
		if !p.met {
			names = append(names, p.name)
		}
	}
	return names
}

// open opens the garden as a process of its own does.
func (g *garden) open() (err error) {
	if g.Library, err = whole.Open(stores.Outliving{Store: g.s}); err == nil {
		g.posts, g.comments = after.NewPosts(g.DB), after.NewComments(g.DB)
	}
	return err
}

// furnish fills the garden, and makes so many likes that no ids name: what names ids is as it
// was before them. A process that ends has put its ids there.
func (g *garden) furnish(ctx context.Context, each int) error {
	if err := g.inProcess(ctx, func() error { return g.fill(ctx, each) }); err != nil {
		return err
	}
	before, err := g.ids(ctx)
	if err != nil {
		return err
	}
	var likes []*whole.Like
	for i := range each {
		likes = append(likes, &whole.Like{User: "unlisted", Work: workID(i * byEach)})
		id := "unlisted:" + workID(i*byEach)
		g.planted = append(g.planted, plantedFault{Planted: whole.Planted{ID: id}, name: "a record that no ids name", kind: "unlisted record"})
	}
	if err := g.inProcess(ctx, func() error { return g.Likes.CreateMulti(ctx, likes) }); err != nil {
		return err
	}
	now, err := g.ids(ctx)
	if err != nil {
		return err
	}
	var ops []kv.Op
	for key := range now {
		if value, was := before[key]; was {
			ops = append(ops, kv.OpSet(key, value))
		} else {
			ops = append(ops, kv.OpDelete(key))
		}
	}
	if err := g.s.Do(ctx, ops); err != nil {
		return err
	}
	return g.open()
}

// inProcess has a process of its own do work, and ends it.
func (g *garden) inProcess(ctx context.Context, work func() error) error {
	if err := g.open(); err != nil {
		return err
	}
	err := work()
	return errors.Join(err, g.DB.Close(ctx))
}

// ids returns the items that name the ids of likes.
func (g *garden) ids(ctx context.Context) (map[string][]byte, error) {
	all := make(map[string][]byte)
	for _, begin := range []string{"all:Like:", "ids:Like"} {
		err := kv.PowersOf(g.s).Keys(ctx, begin, func(keys []string) error {
			results, err := kv.GetAll(ctx, g.s, keys...)
			for i, key := range keys {
				if strings.HasPrefix(key, begin) && results[i].Err == nil {
					all[key] = results[i].Value
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func workID(i int) string { return fmt.Sprintf("w%05d", i) }
func postID(i int) string { return fmt.Sprintf("p%05d", i) }

// fill makes so many works, each with a like, that each fault of each kind has those of an
// author to itself, and posts with comments.
func (g *garden) fill(ctx context.Context, each int) error {
	var works []*whole.Work
	var likes []*whole.Like
	for i := range each * len(whole.Plants) * byEach {
		works = append(works, &whole.Work{ID: workID(i), Slug: fmt.Sprintf("slug-%05d", i), Author: fmt.Sprintf("a%05d", i/byEach), Price: int64(i)})
		likes = append(likes, &whole.Like{User: fmt.Sprint("user-", i%100), Work: workID(i)})
	}
	var posts []*after.Post
	var comments []*after.Comment
	for i := range each {
		posts = append(posts, &after.Post{ID: postID(i), Slug: fmt.Sprintf("slug-%05d", i)})
		for j := range byEach {
			comments = append(comments, &after.Comment{ID: fmt.Sprint("c", i, "-", j), Post: postID(i)})
		}
	}
	for some := range slices.Chunk(works, 1000) {
		if err := g.Works.CreateMulti(ctx, some); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(likes, 1000) {
		if err := g.Likes.CreateMulti(ctx, some); err != nil {
			return err
		}
	}
	if err := g.posts.CreateMulti(ctx, posts); err != nil {
		return err
	}
	if err := g.comments.CreateMulti(ctx, comments); err != nil {
		return err
	}
	return g.DB.Flush(ctx)
}

// plant plants so many faults of each kind.
func (g *garden) plant(ctx context.Context, each int) error {
	for k := range whole.Plants {
		kind := &whole.Plants[k]
		for i := range each {
			work := (k*each + i) * byEach
			p, err := kind.In(ctx, g.Library, g.s, workID(work), workID(work+1))
			if err != nil {
				return fmt.Errorf("%s: %w", kind.Name, err)
			}
			g.planted = append(g.planted, plantedFault{Planted: p, name: kind.Name, kind: kind.Kind, lost: kind.Lost})
		}
	}
	for i := range each {
		if _, err := kv.One(ctx, g.s, kv.OpDelete("r:Post:"+postID(i))); err != nil {
			return err
		}
		p := whole.Planted{ID: postID(i), Base: "l:Comment:ByPost:" + postID(i)}
		g.planted = append(g.planted, plantedFault{Planted: p, name: "children of a record that is gone", kind: "orphan"})
	}
	// How many posts there are is counted.
	total := whole.Planted{Base: "l:Post:count:"}
	g.planted = append(g.planted, plantedFault{Planted: total, name: "the number of records of which some are gone", kind: "wrong count"})
	return nil
}
