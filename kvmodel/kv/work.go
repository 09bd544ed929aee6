package kv

import (
	"context"
	"strings"
)

// Work says who asks for something: a verb of a model or of an index, or what is done in
// the background. All of it are names in the program, so there are few.
type Work struct {
	Model string // such as Post; "" for a database, and for an index that belongs to no model
	Index string // such as ByTags, or the name of a counter; "" for the model itself
	Verb  string // such as Page; repair, upkeep, journal or build in the background
}

// String returns the names, such as Post.ByTags.Page.
func (w Work) String() string {
	var names []string
	for _, name := range []string{w.Model, w.Index, w.Verb} {
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ".")
}

type workKey struct{}

// working is a context with a Work, as one piece of memory.
type working struct {
	context.Context
	work Work
}

func (w *working) Value(key any) any {
	if key == (workKey{}) {
		return &w.work
	}
	return w.Context.Value(key)
}

// For returns a context under which trips are for w; see [Trip].
func For(ctx context.Context, w Work) context.Context { return &working{ctx, w} }

// WorkOf returns what trips under ctx are for; it is empty if no one has said.
func WorkOf(ctx context.Context) Work {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		return *w
	}
	return Work{}
}
