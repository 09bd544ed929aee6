package templates

import "time"

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
