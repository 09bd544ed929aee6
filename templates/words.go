package templates

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"time"
	"unicode"
)

// Link is a link, or only its text if Href is empty.
type Link struct{ Text, Href string }

func (l Link) Render(ctx context.Context, w io.Writer) error { return linked(l).Render(ctx, w) }

// LinksTo returns a link for each text that is not empty: with before in front, to path followed by
// it. Links of . and .. have no address, since browsers would resolve it.
func LinksTo(before, path string, texts ...string) []Link {
	var all []Link
	for _, text := range texts {
		switch {
		case text == "":
		case way(text):
			all = append(all, Link{Text: before + text})
		default:
			all = append(all, Link{Text: before + text, Href: path + url.PathEscape(text)})
		}
	}
	return all
}

// Figure is a formatted number and its unit: "1,234" and "views".
type Figure struct{ Value, Unit string }

// Counted returns n with the singular or the plural: "1 view", "1,234 views".
func Counted(n int64, one, many string) Figure {
	if n == 1 {
		return Figure{"1", one}
	}
	return Figure{Grouped(n), many}
}

// Words returns the figure as a part of a sentence: "1,234 views".
func (f Figure) Words() string { return f.Value + " " + f.Unit }

// Grouped returns n with its digits in groups of three: "1,234".
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for at := len(digits) - 3; at > first; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Span returns the entries on a page: "1–10 of 3,456", or "1–10" if of is 0.
func Span(from, to, of int64) string {
	span := Grouped(from) + "–" + Grouped(to)
	if of > 0 {
		span += " of " + Grouped(of)
	}
	return span
}

// Moment is a time, and its wording: "2 min" or "yesterday".
type Moment struct {
	Words string
	At    time.Time // zero if only the words are known
}

// Ago returns a past time as a list shows it: "now", "2 min", "3 days", "Jan 2".
func Ago(now, t time.Time) Moment {
	now, t = now.UTC(), t.UTC()
	m := Moment{At: t}
	switch past := now.Sub(t); {
	case past < time.Minute:
		m.Words = "now"
	case past < time.Hour:
		m.Words = strconv.Itoa(int(past.Minutes())) + " min"
	case past < 24*time.Hour:
		m.Words = strconv.Itoa(int(past.Hours())) + " hr"
	case past < 7*24*time.Hour:
		m.Words = Counted(int64(past.Hours()/24), "day", "days").Words()
	case t.Year() == now.Year():
		m.Words = t.Format("Jan 2")
	default:
		m.Words = t.Format("Jan 2006")
	}
	return m
}

func (m Moment) Render(ctx context.Context, w io.Writer) error { return moment(m).Render(ctx, w) }

func (m Moment) machine() string { return m.At.UTC().Format(time.RFC3339) }

func initial(name string) string {
	for _, r := range name {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return string(unicode.ToUpper(r))
		}
	}
	return "·"
}

// shortened keeps the end of name, where names differ.
func shortened(name string, width int) string {
	runes := []rune(name)
	if len(runes) <= width {
		return name
	}
	return "…" + string(runes[len(runes)-width+1:])
}

func decimal(x float64) string { return string(appendDecimal(nil, x)) }

func appendDecimal(to []byte, x float64) []byte {
	begin := len(to)
	to = bytes.TrimSuffix(strconv.AppendFloat(to, x, 'f', 1, 64), []byte(".0"))
	if string(to[begin:]) == "-0" {
		return append(to[:begin], '0')
	}
	return to
}

type path []byte

func (p *path) add(command string, coordinates ...float64) {
	*p = append(*p, command...)
	for i, x := range coordinates {
		if i > 0 {
			*p = append(*p, ' ')
		}
		*p = appendDecimal(*p, x)
	}
}

func (p path) String() string { return string(p) }

func points(command string, coordinates ...float64) string {
	var p path
	p.add(command, coordinates...)
	return p.String()
}

func bytesOf(n int64) Figure {
	switch {
	case n < 1000:
		return Figure{strconv.FormatInt(n, 10), "B"}
	case n < 1_000_000:
		return Figure{brief(float64(n) / 1e3), "KB"}
	}
	return Figure{brief(float64(n) / 1e6), "MB"}
}

func lasted(d time.Duration) Figure {
	if d < time.Second {
		return Figure{brief(float64(d) / 1e6), "ms"}
	}
	return Figure{brief(d.Seconds()), "s"}
}

func brief(x float64) string {
	if x < 9.95 {
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// Days returns prints, newest first, by day in UTC: today, yesterday, the past week, and earlier.
func Days(now time.Time, prints []Footprint) []Day {
	var all []Day
	for _, p := range prints {
		title, layout := dayOf(now.UTC(), p.When.At.UTC())
		if n := len(all); n == 0 || all[n-1].Title != title {
			all = append(all, Day{Title: title})
		}
		p.When.Words = p.When.At.UTC().Format(layout)
		last := &all[len(all)-1]
		last.Prints = append(last.Prints, p)
	}
	return all
}

func dayOf(now, at time.Time) (title, layout string) {
	today := now.Truncate(24 * time.Hour)
	switch {
	case !at.Before(today):
		return "Today", "15:04"
	case !at.Before(today.AddDate(0, 0, -1)):
		return "Yesterday", "15:04"
	case !at.Before(today.AddDate(0, 0, -7)):
		return "Past week", "Mon"
	}
	return "Earlier", "Jan 2"
}
