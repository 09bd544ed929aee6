package peers

import (
	"strconv"
	"time"
)

// A link to pages older than a moment is its microseconds since 1970.

func momentLink(t time.Time) string { return strconv.FormatInt(t.UnixMicro(), 10) }

func momentOf(link string) (time.Time, error) {
	us, err := strconv.ParseInt(link, 10, 64)
	return time.UnixMicro(us).UTC(), err
}
