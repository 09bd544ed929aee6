package whole

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// judgeLast requires the last acknowledged state of records, revisions and events.
func (l *Library) judgeLast(ctx context.Context, d *Diary, shown Shown) ([]string, error) {
	works, err := live(ctx, l.Works.Records, WorkIDs)
	if err != nil {
		return nil, err
	}
	var likes []string
	for _, user := range Users {
		for _, work := range WorkIDs {
			if v, err := live(ctx, l.Likes.Records, []LikeID{{user, work}}); err != nil {
				return nil, err
			} else if len(v) > 0 {
				likes = append(likes, user+" "+work)
			}
		}
	}
	wrong := slices.Concat(d.judgeWorks(works), d.judgeLikes(likes), judgeHistory(works, shown))
	return append(wrong, l.judgeEvents(ctx, d)...), nil
}

// lastOf returns the acknowledged call that began after all others of these kinds had ended, or
// nil.
func (d *Diary) lastOf(about string, kinds ...string) *Entry {
	var last *Entry
	end := 0
	for _, e := range d.entries {
		if e.About != about || !slices.Contains(kinds, e.What) || !e.maybe() {
			continue
		}
		if e.End == 0 {
			return nil // it may take effect at any time
		}
		if last == nil || e.End > last.End {
			last, end = e, max(end, endOf(last))
			continue
		}
		end = max(end, e.End)
	}
	if last == nil || !last.done() || last.Begin < end {
		return nil
	}
	return last
}

func endOf(e *Entry) int {
	if e == nil {
		return 0
	}
	return e.End
}

func (d *Diary) judgeWorks(works []*Work) (wrong []string) {
	for _, id := range WorkIDs {
		e := d.lastOf(id, "make", "edit", "waver", "restore", "delete")
		if e == nil {
			continue
		}
		at := slices.IndexFunc(works, func(w *Work) bool { return w.ID == id })
		switch {
		case e.What == "delete" && at >= 0:
			wrong = append(wrong, fmt.Sprintf("Work Get %s: it is there, after %s", id, e))
		case e.What != "delete" && at < 0:
			wrong = append(wrong, fmt.Sprintf("Work Get %s: it is not there, after %s", id, e))
		case at >= 0 && e.What != "restore" && !slices.Contains(works[at].Marks, e.Token):
			wrong = append(wrong, fmt.Sprintf("Work Get %s: marks %q, after %s", id, works[at].Marks, e))
		}
	}
	return wrong
}

func (d *Diary) judgeLikes(likes []string) (wrong []string) {
	for _, user := range Users {
		for _, work := range WorkIDs {
			about := user + " " + work
			in := slices.Contains(likes, about)
			if e := d.lastOf(about, "like", "unlike"); e != nil && in != (e.What == "like") {
				wrong = append(wrong, fmt.Sprintf("Like Get %s: it is there: %t, after %s", about, in, e))
			}
		}
	}
	return wrong
}

func judgeHistory(works []*Work, shown Shown) (wrong []string) {
	for _, w := range works {
		question := "Work History " + w.ID
		newest, _, _ := strings.Cut(shown[question], "; ")
		if _, marks, _ := strings.Cut(newest, " "); marks != strings.Join(w.Marks, "+") {
			wrong = append(wrong, fmt.Sprintf("%s: want the newest with %q, got %q", question, w.Marks, shown[question]))
		}
	}
	return wrong
}

// Each writer's last events are there once, newest first. A push without an answer may have
// replaced one, and an unanswered increment leaves a number of a ring unused.
func (l *Library) judgeEvents(ctx context.Context, d *Diary) (wrong []string) {
	pushed := map[string][]*Entry{}
	for _, e := range d.entries {
		if e.What == "push" {
			pushed[e.About] = append(pushed[e.About], e)
		}
	}
	for owner, calls := range pushed {
		s := Shown{}
		events(ctx, s, "Visit "+owner, l.Visits, owner, func(v Visit) string { return v.Guest })
		events(ctx, s, "Glance "+owner, l.Glances, owner, func(v Glance) string { return v.Guest })
		events(ctx, s, "Notice "+owner, l.Notices, owner, func(v Notice) string { return v.Text })
		events(ctx, s, "Shot "+owner, l.Shots, owner, func(v Shot) string { return v.Text })
		var sure []string
		unsure := 0
		for _, e := range slices.Backward(calls) {
			if e.done() {
				sure = append(sure, e.Token)
			} else {
				unsure++
			}
		}
		for question, got := range s {
			want := sure[:max(0, min(len(sure), leastKept-unsure))]
			shown := strings.Fields(got)
			known := slices.DeleteFunc(slices.Clone(shown), func(text string) bool { return !slices.Contains(want, text) })
			if ring := strings.HasPrefix(question, "Shot "); ring && len(want) > 0 {
				want = want[:max(1, min(len(want), len(known)))]
			}
			if twice := len(slices.Compact(slices.Sorted(slices.Values(shown)))) < len(shown); twice || !slices.Equal(want, known) {
				wrong = append(wrong, fmt.Sprintf("%s: want %q first, got %q", question, want, got))
			}
		}
	}
	return wrong
}

const leastKept = 4
