package forum

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/ringtree/ringtree/kvmodel"
)

// NewStory is the input of a submission. Without a URL it is a text.
type NewStory struct {
	URL, Title, Text string
	Tags             []string
}

func (s *Story) Validate() error {
	p := kvmodel.Problems{}
	if len(words(s.Title)) == 0 {
		p.Add("Title", "A story needs a title.")
	}
	return p.Err()
}

// Submit returns a [kvmodel.TakenError] with the id of an earlier story if the URL has been
// submitted.
func (f *Forum) Submit(ctx context.Context, name string, n NewStory) (*Story, error) {
	s := &Story{URL: n.URL, Title: n.Title, Text: n.Text, Author: name, Tags: n.Tags}
	return s, f.m.Stories.Create(ctx, s)
}

// Delete deletes a story of the reader, with its comments and all votes.
func (f *Forum) Delete(ctx context.Context, name, story string) error {
	s, err := f.m.Stories.Get(ctx, story)
	switch {
	case err != nil:
		return err
	case s.Author != name:
		return ErrForbidden
	}
	return f.m.Stories.Delete(ctx, story)
}

// Front is the front page: the hottest stories first.
func (f *Forum) Front(ctx context.Context, name, cursor string) (*Page, error) {
	return f.stories(ctx, name, f.m.Stories.Front, cursor)
}

// Newest goes back as far as a timeline.
func (f *Forum) Newest(ctx context.Context, name, cursor string) (*Page, error) {
	return f.stories(ctx, name, f.m.Stories.Newest, cursor)
}

func (f *Forum) Tagged(ctx context.Context, name, tag, cursor string) (*Page, error) {
	return f.stories(ctx, name, f.m.Stories.NewestByTags.Of(tag), cursor)
}

// Search is the newest stories with a title in which each typed word begins a word. The longest
// start of the first typed word selects the stories to look at.
func (f *Forum) Search(ctx context.Context, name, typed, cursor string) (*Page, error) {
	typedWords := words(typed)
	if len(typedWords) == 0 {
		return new(Page), nil
	}
	begin := starts(typedWords[0])
	return f.stories(ctx, name, f.m.Stories.Found.Of(begin[len(begin)-1]), cursor, func(s *Story) bool {
		title := words(s.Title)
		return !slices.ContainsFunc(typedWords, func(typed string) bool {
			return !slices.ContainsFunc(title, func(word string) bool { return strings.HasPrefix(word, typed) })
		})
	})
}

// stories leaves out stories that the reader hides or mutes.
func (f *Forum) stories(ctx context.Context, name string, from kvmodel.Lister[Story], cursor string, keep ...func(*Story) bool) (*Page, error) {
	return f.page(ctx, name, func(ctx context.Context, p *Page) error {
		if name != "" {
			wanted, err := f.wanted(ctx, name)
			if err != nil {
				return err
			}
			keep = append(keep, wanted)
		}
		return f.addStories(ctx, name, p, from, cursor, keep...)
	})
}

func (f *Forum) wanted(ctx context.Context, name string) (func(*Story) bool, error) {
	var u *User
	hidden := map[string]bool{}
	err := f.db.SideBySide(ctx,
		func(ctx context.Context) (err error) { u, err = f.m.Users.Get(ctx, name); return err },
		func(ctx context.Context) error {
			for id, err := range f.m.Hides.ByUser.Of(name).IDs(ctx) {
				if err != nil {
					return err
				}
				hidden[id.Story] = true
			}
			return nil
		},
	)
	return func(s *Story) bool {
		return !hidden[s.ID] && !slices.ContainsFunc(s.Tags, func(tag string) bool { return slices.Contains(u.Muted, tag) })
	}, err
}

func (f *Forum) addStories(ctx context.Context, name string, p *Page, from kvmodel.Lister[Story], cursor string, keep ...func(*Story) bool) error {
	found, err := from.Page(ctx, cursor, Shown, keep...)
	if err != nil {
		return err
	}
	p.Next = found.Next
	return f.show(ctx, name, p, found.Items, nil)
}

func (s *Story) Starts() []string {
	var all []string
	for _, word := range words(s.Title) {
		all = append(all, starts(word)...)
	}
	return all
}

// starts returns the first letter of a word, its first two, four and eight.
func starts(word string) (all []string) {
	letters := []rune(word)
	for n := 1; n <= min(8, len(letters)); n *= 2 {
		all = append(all, string(letters[:n]))
	}
	return all
}

func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
