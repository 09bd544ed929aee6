package kvmodel

import (
	"log/slog"
	"time"

	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// troubleEvery is how often the log says that the trouble with a file goes on.
const troubleEvery = 10 * time.Minute

// trouble is what the log was told of a store in a file: that it cannot be written or
// shipped, say.
type trouble struct{ began, said time.Time }

// tell logs what disk says is wrong, now and then as long as it is, and when it is over.
func (t *trouble) tell(log *slog.Logger, now time.Time, disk kv.Disk) {
	switch {
	case disk.Trouble == nil && !t.began.IsZero():
		log.Info("ringtree: the trouble with the store's file is over", "after", now.Sub(t.began).Round(time.Second))
		*t = trouble{}
	case disk.Trouble != nil && now.Sub(t.said) >= troubleEvery:
		if t.began.IsZero() {
			t.began = now
		}
		t.said = now
		log.Warn("ringtree: there is trouble with the store's file; it is tried again", "since", t.began.Format(time.RFC3339), "err", work.Clip(disk.Trouble))
	}
}
