package demo

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
)

// KillWriter writes a page in a simulated process that dies just before it writes the record. An
// error comes from the store before the kill.
func KillWriter(ctx context.Context, store kv.Store) (topic string, err error) {
	topic = texts.Themes[0].Topic
	var killed atomic.Bool
	db, err := kvmodel.Open(kvfault.Killed(store, func(op kv.Op) bool {
		commits := op.Kind.Writes() && strings.HasPrefix(op.Key, "r:Page:")
		if commits {
			killed.Store(true)
		}
		return commits
	}), kvmodel.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		return "", err
	}
	_, err = ashiato.NewSite(db, guard.HashCost{}).Write(ctx, memberID(0), ashiato.Draft{Title: "A page that nobody sees", Body: "Its writer was killed.", Topics: []string{topic}})
	if killed.Load() {
		err = nil
	}
	// The store answers nothing any more, so there is nothing to wait for.
	_ = db.Close(ctx)
	return topic, err
}
