package kv

import (
	"context"
	"strings"
)

// Work names the origin of a trip: a verb of a model or of an index, or a background task.
type Work struct {
	Model string // such as Post; "" for a database, and for an index without a model
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

// working is a context with a Work in one allocation.
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

// For returns a context whose trips are attributed to w; see [Trip].
func For(ctx context.Context, w Work) context.Context { return &working{ctx, w} }

// WorkOf returns the Work of ctx, empty if none is set.
func WorkOf(ctx context.Context) Work {
	if w, ok := ctx.Value(workKey{}).(*Work); ok {
		return *w
	}
	return Work{}
}
