package journal

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Origin identifies a process in the head of its journal.
type Origin struct {
	Host    string
	PID     int
	Release string    // of the program; "": unknown
	Since   time.Time // when it opened the database
}

func (o Origin) IsZero() bool { return o == Origin{} }

// Called returns the process in readable form: web-1 pid 4121 (release a3f19c2, since 3 h).
func (o Origin) Called(process string, now time.Time) string {
	if o.IsZero() {
		return process
	}
	release := ""
	if o.Release != "" {
		release = "release " + o.Release + ", "
	}
	return strings.TrimSpace(fmt.Sprintf("%s pid %d (%ssince %s)", o.Host, o.PID, release, age(now.Sub(o.Since))))
}

func age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"d", day}, {"h", time.Hour}, {"min", time.Minute}} {
		if d >= unit.of {
			return fmt.Sprint(int(d/unit.of), " ", unit.name)
		}
	}
	return fmt.Sprint(max(0, int(d/time.Second)), " s")
}

// runs precedes an Origin among the shapes. A model's name has no blank.
const runs = "runs "

func (o Origin) text() string {
	return runs + strings.Join([]string{
		url.QueryEscape(o.Host), strconv.Itoa(o.PID), strconv.FormatInt(o.Since.Unix(), 10), url.QueryEscape(o.Release),
	}, " ")
}

func readOrigin(text string) (o Origin, ok bool) {
	rest, ok := strings.CutPrefix(text, runs)
	parts := strings.Split(rest, " ")
	if !ok || len(parts) != 4 {
		return Origin{}, false
	}
	host, err1 := url.QueryUnescape(parts[0])
	pid, err2 := strconv.Atoi(parts[1])
	since, err3 := strconv.ParseInt(parts[2], 10, 64)
	release, err4 := url.QueryUnescape(parts[3])
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			return Origin{}, false
		}
	}
	return Origin{host, pid, release, time.Unix(since, 0).UTC()}, true
}
