package whole

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/timeline"
)

// Judge returns the faults of the library once all writers have ended and the work of dead ones is
// repaired: answers that differ from the records, records and answers that differ from the diary,
// and answers that no reader should have got. Each line begins with the question.
func (l *Library) Judge(ctx context.Context, d *Diary) ([]string, error) {
	shown := l.Look(ctx)
	should, err := l.Should(ctx)
	if err != nil {
		return nil, err
	}
	wrong := slices.Concat(d.wrong, should.Differences(shown))
	wrong = append(wrong, l.judgeTimelines(ctx, d, shown)...)
	wrong = append(wrong, d.judgeViews(shown)...)
	wrong = append(wrong, d.judgeTickets(shown)...)
	last, err := l.judgeLast(ctx, d, shown)
	if err != nil {
		return nil, err
	}
	return append(wrong, last...), nil
}

// Live records of a timeline are there once, newer titles above older ones, unless it has forgotten
// any.
func (l *Library) judgeTimelines(ctx context.Context, d *Diary, shown Shown) (wrong []string) {
	works, err := live(ctx, l.Works.Records, WorkIDs)
	if err != nil {
		return []string{"timelines: " + err.Error()}
	}
	check := func(name string, size int64, belongs func(*Work) bool, rings ...*timeline.Ring[Work]) {
		for _, ring := range rings {
			if hasForgotten(ctx, ring, size) {
				return
			}
		}
		ids := those(works, workID, belongs)
		for _, question := range []string{name, name + " Page"} {
			got := strings.Fields(shown[question])
			slices.Sort(got)
			if text := strings.Join(got, " "); text != ids {
				wrong = append(wrong, fmt.Sprintf("%s: want %q, got %q", question, ids, text))
			}
		}
	}
	check("Work Newest", 200, func(w *Work) bool { return w.Title != "" }, l.Works.Newest)
	check("Work Notes", 60, func(w *Work) bool { return w.Note != "" }, l.Works.Notes)
	var rings []*timeline.Ring[Work]
	for _, author := range Authors {
		ring := l.Works.NewestByAuthor.Of(author)
		check("Work NewestByAuthor "+author, 40, func(w *Work) bool { return w.Author == author }, ring)
		rings = append(rings, ring)
	}
	check("Work NewestByAuthor of all", 40, func(w *Work) bool { return slices.Contains(Authors, w.Author) }, rings...)
	return append(wrong, d.judgeOrder(works, strings.Fields(shown["Work Newest"]))...)
}

func hasForgotten(ctx context.Context, ring *timeline.Ring[Work], size int64) bool {
	pictures, err := ring.Pictures(ctx, 0)
	return err != nil || slices.ContainsFunc(pictures, func(p timeline.Picture) bool { return p.Head > size })
}

func (d *Diary) judgeOrder(works []*Work, order []string) (wrong []string) {
	calls := map[string]*Entry{}
	moved := map[string]bool{} // ids with titles that may be older than their entries
	for _, e := range d.entries {
		if e.What == "make" || e.What == "edit" {
			calls[e.Token] = e
		}
		if e.What == "restore" {
			moved[e.About] = true
		}
	}
	titles := map[string]string{}
	for _, w := range works {
		titles[w.ID] = w.Title
	}
	for i, above := range order {
		for _, below := range order[i+1:] {
			a, b := calls[titles[above]], calls[titles[below]]
			if a != nil && b != nil && a.done() && b.done() && !moved[above] && !moved[below] && a.End < b.Begin {
				wrong = append(wrong, fmt.Sprintf("Work Newest: %s (%s) stands above %s (%s), which was written after it", above, a, below, b))
			}
		}
	}
	return wrong
}

// A work has every acknowledged view since it was last created, and none from before its last
// deletion.
func (d *Diary) judgeViews(shown Shown) (wrong []string) {
	for _, id := range WorkIDs {
		got, ok := viewsIn(shown["Work "+id])
		made := d.lastMade(id)
		if !ok || made == nil {
			continue
		}
		low, high, gone := int64(0), int64(0), d.lastGone(id)
		for _, e := range d.of("hit", id) {
			if e.done() && e.Begin > made.End {
				low++
			}
			if e.maybe() && (!e.done() || e.End > gone) {
				high++
			}
		}
		if got < low || got > high {
			wrong = append(wrong, fmt.Sprintf("Work Views %s: want %d to %d, got %d; made by %s", id, low, high, got, made))
		}
	}
	return wrong
}

func viewsIn(text string) (int64, bool) {
	_, rest, ok := strings.Cut(text, `"Views":`)
	digits, _, _ := strings.Cut(rest, ",")
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil
}

// lastMade returns nil if the diary does not show the call.
func (d *Diary) lastMade(id string) *Entry {
	var made *Entry
	for _, e := range d.of("make", id) {
		if e.done() {
			made = e
		}
	}
	if made == nil {
		return nil
	}
	for _, e := range d.of("delete", id) {
		if e.maybe() && (e.End == 0 || e.Err != nil || e.End > made.Begin) {
			return nil
		}
	}
	return made
}

func (d *Diary) lastGone(id string) int {
	gone := 0
	for _, e := range d.of("delete", id) {
		if e.maybe() {
			gone = e.Begin
		}
	}
	return gone
}

// Each assigned number belongs to one ticket, and there are at most as many tickets as calls. A
// repair leaves the number of a process taken for dead empty.
func (d *Diary) judgeTickets(shown Shown) (wrong []string) {
	last, err := strconv.Atoi(shown["Ticket Count"])
	there := strings.Fields(shown["Ticket All"])
	there = slices.DeleteFunc(there, func(word string) bool { _, err := strconv.Atoi(word); return err != nil })
	asked, tickets, given := 0, len(there), map[string]bool{}
	for _, e := range d.entries {
		n, isNumber := strconv.Atoi(e.About)
		switch {
		case e.What == "ticket" && e.maybe():
			asked++
			continue
		case e.What != "numbered" || isNumber != nil:
			continue
		case given[e.About]:
			wrong = append(wrong, fmt.Sprintf("Ticket Count: number %d was given twice", n))
		case err != nil || n > last:
			wrong = append(wrong, fmt.Sprintf("Ticket Count: want at least %d, got %q", n, shown["Ticket Count"]))
		}
		given[e.About] = true
		if slices.Contains(there, e.About) {
			continue
		}
		tickets++
		if !slices.ContainsFunc(d.of("tear", e.About), (*Entry).maybe) {
			wrong = append(wrong, fmt.Sprintf("Ticket All: number %d was given, and is not there", n))
		}
	}
	if tickets > asked && len(d.entries) > 0 { // an empty diary has no calls
		wrong = append(wrong, fmt.Sprintf("Ticket Count: %d tickets of %d calls", tickets, asked))
	}
	return wrong
}

// JudgeKeys returns the models that do not return each live record under keys, all keys of the
// store, exactly once in All and in Each.
func (l *Library) JudgeKeys(ctx context.Context, keys []string) []string {
	return slices.Concat(
		judgeKeys(ctx, "Work", l.Works.Records, keys),
		judgeKeys(ctx, "Like", l.Likes.Records, keys),
		judgeKeys(ctx, "Offer", l.Offers.Records, keys),
		judgeKeys(ctx, "Bid", l.Bids.Records, keys),
		judgeKeys(ctx, "Ticket", l.Tickets.Records, keys),
		judgeKeys(ctx, "Piece", l.Pieces.Records, keys),
		judgeKeys(ctx, "Poll", l.Polls.Records, keys),
		judgeKeys(ctx, "Vote", l.Votes.Records, keys),
	)
}

func judgeKeys[T any, K comparable](ctx context.Context, name string, r *kvmodel.Records[T, K], keys []string) (wrong []string) {
	var ids []K
	for _, key := range keys {
		if text, ok := strings.CutPrefix(key, "r:"+name+":"); ok {
			id, err := r.IDs().Parse(text)
			if err != nil {
				return []string{name + " All: " + err.Error()}
			}
			ids = append(ids, id)
		}
	}
	there, err := live(ctx, r, ids)
	var each, all []*T
	err = cmp.Or(err, r.Each(ctx, kvmodel.Walk{}, func(v *T) error { each = append(each, v); return nil }))
	for v, e := range r.All(ctx) {
		all, err = append(all, v), cmp.Or(err, e)
	}
	if err != nil {
		return []string{name + " All: " + err.Error()}
	}
	text := func(v *T) string { return r.IDs().Text(r.ID(v)) }
	want := those(there, text, func(*T) bool { return true })
	for question, given := range map[string][]*T{"All": all, "Each": each} {
		if got := those(given, text, func(*T) bool { return true }); got != want {
			wrong = append(wrong, fmt.Sprintf("%s All: the keys name %q, and %s gives %q", name, want, question, got))
		}
	}
	return wrong
}

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
