package kvmodel

import (
	"log/slog"
	"time"

	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// troubleEvery is the interval at which persistent trouble with a file is logged.
const troubleEvery = 10 * time.Minute

// trouble is the state of the log about a store's file, which cannot be written or shipped, for
// example.
type trouble struct{ began, said time.Time }

// tell logs the trouble of disk, repeats it while it lasts, and logs its end.
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
