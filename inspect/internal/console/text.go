package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/templates"
)

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
