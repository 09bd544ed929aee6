package ashiato

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel"
)

var demoHandles = []string{"heron", "moss", "tinbox", "lantern", "quarry", "Sparrow7"}

var demoPages = []struct{ slug, title, body string }{
	{"fire-station-bench", "The bench behind the fire station", "It faces the wrong way, which is why it is always free.\n\nSit there at eight and you see who comes home and who goes to work."},
	{"sourdough", "Sourdough at eight degrees", "A cold kitchen is no reason to give up. It is a reason to begin on the day before."},
	{"tide-table", "How to read a tide table", "Two numbers for each tide: when, and how high.\n\nEverything else on the sheet is about the one harbour it was printed for."},
	{"wool-jumper", "Mending a wool jumper in the wrong colour", "The jumper went at the elbow in November. The yarn I had was red, so the elbow is now a small red field."},
	{"birds-before-six", "Birds I heard before six", "Blackbird, robin, wren, and one I do not know that says the same word four times."},
	{"ferry-patience", "What the ferry timetable taught me", "The next one is in fifty minutes. It always is."},
	{"mitsuba", "Growing mitsuba on a north-facing sill", "It wants what nobody else wants: shade, and feet that are never dry."},
	{"quiet-carriage", "The quiet carriage is not quiet", "It is only that everybody there can hear the others breathe."},
	{"fold-a-letter", "Seven ways to fold a letter", "Six of them open by themselves in the envelope. The seventh is below.\n\n1. In half.\n2. In half.\n3. Stop."},
	{"kitchen-knife", "Sharpening a kitchen knife, slowly", "Count the strokes, and the same number for the other side."},
	{"manhole-covers", "A field guide to manhole covers", "Look down for a week and you will know which of your streets is the oldest."},
	{"stairs-nowhere", "Stairs that go nowhere", "There are three in this town. One ends at a wall, one at a hedge, one in the air."},
}

// Demo makes sure that the first n demo pages and their members exist, and
// returns how many pages it has made. They are the same everywhere; what of
// them has been changed or put into the trash stays so.
func Demo(ctx context.Context, m *Models, n int) (made int, err error) {
	if n <= 0 {
		return 0, nil
	}
	_, err = m.Pages.Get(ctx, demoPageID(n-1))
	if !errors.Is(err, kvmodel.ErrNotFound) {
		return 0, err
	}
	if _, err := created(m.Members.CreateMulti(ctx, demoMembers())); err != nil {
		return 0, err
	}
	const batch = 500
	for begin := 0; begin < n; begin += batch {
		pages := demoBatch(begin, min(begin+batch, n))
		there, err := created(m.Pages.CreateMulti(ctx, pages))
		if err != nil {
			return made, err
		}
		made += len(pages) - there
	}
	return made, nil
}

// created takes what CreateMulti returned and returns how many of its records,
// or their unique values, were there already. All else is an error.
func created(err error) (there int, _ error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return 0, err
	}
	for _, err := range joined.Unwrap() {
		if !errors.Is(err, kvmodel.ErrExists) {
			return there, err
		}
		there++
	}
	return there, nil
}

func demoMembers() []*Member {
	members := make([]*Member, len(demoHandles))
	for i, handle := range demoHandles {
		members[i] = &Member{ID: demoMemberID(i), Handle: handle}
	}
	return members
}

func demoBatch(begin, end int) []*Page {
	var pages []*Page
	for i := begin; i < end; i++ {
		pages = append(pages, demoPage(i))
	}
	return pages
}

func demoPage(i int) *Page {
	text := demoPages[i%len(demoPages)]
	page := &Page{ID: demoPageID(i), Slug: text.slug, Title: text.title, Body: text.body, Author: demoMemberID(i % len(demoHandles))}
	if round := i / len(demoPages); round > 0 {
		page.Slug = fmt.Sprintf("%s-%d", page.Slug, round+1)
		page.Title = fmt.Sprintf("%s, part %d", page.Title, round+1)
	}
	return page
}

func demoMemberID(i int) string { return fmt.Sprintf("demo-member-%d", i+1) }
func demoPageID(i int) string   { return fmt.Sprintf("demo-page-%d", i+1) }
