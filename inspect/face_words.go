package inspect

import (
	"time"

	"github.com/ringtree/ringtree/inspect/internal/console"
	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
)

// faceHome is the title of the first page.
const faceHome = "Status"

func faceCost(c kvmodel.Cost) []string {
	return []string{console.Some(c.Trips, "trip", "trips"), console.Some(c.Keys, "key", "keys"), console.Size(int64(c.Read))}
}

func faceTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.DateTime) + " UTC"
}

func faceText(text string) face.Cell { return face.Cell{{Text: text}} }
