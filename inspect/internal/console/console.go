// Package console is the terminal of the command of package inspect: text in columns, objects for
// programs, one line of progress, and questions to the person at the input.
package console

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/ringtree/ringtree/templates"
)

// Console is the input and output of a verb. Several goroutines may use it.
type Console struct {
	Asks   bool // a person is at the input
	Live   bool // a line of the errors can be overwritten
	Clears bool // the output is a screen, which can be cleared

	in *bufio.Reader

	mu     sync.Mutex
	out    io.Writer
	err    io.Writer
	failed error // the first error of the output
	shown  bool  // a line of progress is on the screen
	began  time.Time
	last   time.Time // when a line of progress was last written, or zero
}

func New(in io.Reader, out, err io.Writer) *Console {
	return &Console{Asks: IsTerminal(in), Live: IsTerminal(err), Clears: IsTerminal(out), in: bufio.NewReader(in), out: out, err: err, began: time.Now()}
}

// IsTerminal reports whether f is a file that is a terminal.
func IsTerminal(f any) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

func (c *Console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	n, err := c.out.Write(p)
	c.failed = cmp.Or(c.failed, err)
	return n, err
}

func (c *Console) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed = cmp.Or(c.failed, err)
}

// Failed returns the first error of writing to the output, or nil.
func (c *Console) Failed() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}

func (c *Console) Say(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

func (c *Console) Note(format string, args ...any) { fmt.Fprintf(c.Errors(), format+"\n", args...) }

// Errors returns a writer to the errors.
func (c *Console) Errors() io.Writer { return toErrors{c} }

type toErrors struct{ *Console }

func (e toErrors) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.clear()
	return e.err.Write(p)
}

// Table writes rows with aligned columns.
func (c *Console) Table(rows [][]string) {
	var all bytes.Buffer
	w := tabwriter.NewWriter(&all, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	w.Flush()
	for line := range strings.Lines(all.String()) {
		c.Say("%s", strings.TrimRight(line, " \n"))
	}
}

const (
	liveEvery = 100 * time.Millisecond
	lineEvery = 10 * time.Second
)

// Progress replaces the line of progress on a terminal. Elsewhere it writes one every ten seconds.
func (c *Console) Progress(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	every, last := lineEvery, c.last
	switch {
	case c.Live:
		every = liveEvery
	case last.IsZero():
		last = c.began
	}
	now := time.Now()
	if now.Sub(last) < every {
		return
	}
	c.clear()
	c.last, c.shown = now, c.Live
	if c.Live {
		fmt.Fprint(c.err, line)
		return
	}
	fmt.Fprintln(c.err, line)
}

// Done removes the line of progress from the screen.
func (c *Console) Done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}

// The caller of clear holds the lock.
func (c *Console) clear() {
	if c.shown {
		fmt.Fprint(c.err, "\r\x1b[K")
		c.shown = false
	}
}

// Ask reports whether the answer is yes. If ctx ends first, it is no.
func (c *Console) Ask(ctx context.Context, question string) bool {
	fmt.Fprint(c.Errors(), question+" [y/N] ")
	answer := make(chan string, 1)
	go func() {
		line, err := c.in.ReadString('\n')
		if err != nil && ctx.Err() == nil {
			c.Note("")
		}
		answer <- line
	}()
	select {
	case line := <-answer:
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes"
	case <-ctx.Done():
		c.Note("")
		return false
	}
}

// Again clears a terminal before the next refresh.
func (c *Console) Again() {
	if c.Clears {
		fmt.Fprint(c, "\x1b[H\x1b[2J")
		return
	}
	c.Say("")
}

// Number returns n with a comma before every three digits.
func Number[N ~int | ~int64](n N) string { return templates.Grouped(int64(n)) }

// Size returns a number of bytes as readable text: 412 B, 31 MB.
func Size[N ~int | ~int64](n N) string {
	if n < 1000 {
		return fmt.Sprint(int64(n), " B")
	}
	size, unit := float64(n), 0
	for ; size >= 999.5 && unit < len(units); unit++ {
		size /= 1000
	}
	digits := 0
	if size < 9.95 {
		digits = 1
	}
	return strconv.FormatFloat(size, 'f', digits, 64) + " " + units[unit-1]
}

var units = []string{"kB", "MB", "GB", "TB", "PB"}

// Span returns a duration as readable text: 0.4 s, 12 s, 3m20s, 2h5m.
func Span(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return d.Round(time.Second).String()
	}
	return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
}

// Some returns a number of things: 1 record, 3 records.
func Some[N ~int | ~int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Version is the version of the objects. It increases with changes that programs must follow.
const Version = 1

// Object writes v, a struct, as an object on one line, with the version and its kind.
func (c *Console) Object(kind string, v any) {
	fields, err := JSON(v)
	if err != nil {
		c.fail(fmt.Errorf("%s: %w", kind, err))
		return
	}
	rest := bytes.TrimPrefix(fields, []byte("{"))
	between := ","
	if rest[0] == '}' {
		between = ""
	}
	fmt.Fprintf(c, `{"v":%d,"type":%q%s%s`+"\n", Version, kind, between, rest)
}

// JSON returns v as JSON, with readable text.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
