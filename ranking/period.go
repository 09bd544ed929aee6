package ranking

import (
	"fmt"
	"time"
)

// Period is a calendar period, in UTC.
type Period int

// A week begins on Monday.
const (
	Forever Period = iota
	Hour
	Day
	Week
	Month
)

const keptByDefault = 2

func (p Period) begin(t time.Time) time.Time {
	t = t.UTC()
	switch p {
	case Hour:
		return t.Truncate(time.Hour)
	case Day:
		return t.Truncate(24 * time.Hour)
	case Week:
		day := t.Truncate(24 * time.Hour)
		return day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case Month:
		return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}

// add returns the start of the period n after the one that contains t.
func (p Period) add(t time.Time, n int) time.Time {
	switch begin := p.begin(t); p {
	case Hour:
		return begin.Add(time.Duration(n) * time.Hour)
	case Day:
		return begin.AddDate(0, 0, n)
	case Week:
		return begin.AddDate(0, 0, 7*n)
	case Month:
		return begin.AddDate(0, n, 0)
	default:
		return begin
	}
}

func (p Period) name(t time.Time) string {
	begin := p.begin(t)
	switch p {
	case Hour:
		return begin.Format("2006-01-02T15")
	case Day:
		return begin.Format("2006-01-02")
	case Week:
		year, week := begin.ISOWeek()
		return fmt.Sprintf("%d-W%02d", year, week)
	case Month:
		return begin.Format("2006-01")
	}
	return ""
}
