package inspect

import (
	"fmt"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
)

// templPart is a part of a page.
type templPart = templ.Component

// faceHome is the title of the first page.
const faceHome = "Status"

// faceCost returns the cells that show a cost.
func faceCost(c kvmodel.Cost) []string {
	return []string{faceCount(c.Trips, "trip", "trips"), faceCount(c.Keys, "key", "keys"), faceSize(int64(c.Read))}
}

// faceNumber returns n with its digits in groups of three.
func faceNumber(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func faceCount(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return faceNumber(int64(n)) + " " + many
}

// faceSize returns a number of bytes in units that people read.
func faceSize(n int64) string {
	size, units := float64(n), []string{"kB", "MB", "GB", "TB"}
	if n < 1000 {
		return faceNumber(n) + " B"
	}
	unit := ""
	for _, unit = range units {
		if size /= 1000; size < 999.5 {
			break
		}
	}
	return fmt.Sprintf("%.3g %s", size, unit)
}

func faceTime(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05") + " UTC"
}

// faceText returns a cell of one text.
func faceText(text string) face.Cell { return face.Cell{{Text: text}} }
