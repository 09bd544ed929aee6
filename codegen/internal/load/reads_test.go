package load

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

func TestReads_FindsWhatAMethodSelectsFromItsReceiver(t *testing.T) {
	for _, c := range []struct{ body, want string }{
		{"return s.A + s.B - s.A", "A B"},
		{"return (s).A + (*s).B", "A B"},
		{"return s.T.s + x.A", "T"},
		{"return s.other()", "B C"},
		{"f := s.other; return f() + s.A", "B C A"},
		{"return s.again() + s.A", "D A"},
		{"return s.Promoted()", "Promoted"},
		{"return f(s.A, func() int { return s.B })", "A B"},
		{"return f(s)", "unknown"},
		{"t := s; return t.A", "unknown"},
		{"return f(*s) + s.A", "unknown"},
		{"for _, s := range s.All { n += s.A }; return n", "unknown"},
		{"return f(&s.A)", "A"},
		{"return s.whole()", "unknown"},
		{"return 1", ""},
	} {
		text := "package p\n" +
			"func (s *T) M() int { " + c.body + " }\n" +
			"func (x T) other() int { return x.B + x.C }\n" +
			"func (s *T) again() int { if s.D > 0 { return s.again() }; return 0 }\n" +
			"func (s *T) whole() int { return f(s) }\n" +
			"func (s *U) M() int { return s.Z }\n"
		file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			t.Error(c.body, err)
			continue
		}
		names, sure := (&Source{Files: []*sourceFile{{"", file}}}).Reads("T", "M")
		got := strings.Join(names, " ")
		if !sure {
			got = "unknown"
		}
		if got != c.want {
			t.Errorf("%s: want %q, got %q", c.body, c.want, got)
		}
	}
	s := &Source{}
	if _, sure := s.Reads("T", "M"); sure {
		t.Error("a method without a body is taken for one that reads nothing")
	}
}

func TestPlural_FollowsTheEnding(t *testing.T) {
	for name, want := range map[string]string{
		"Page": "Pages", "Vote": "Votes", "Category": "Categories", "Day": "Days", "Key": "Keys",
		"Box": "Boxes", "Bus": "Buses", "Quiz": "Quizes", "Match": "Matches", "Wish": "Wishes", "Y": "Ys",
		"Übung": "Übungs", "URL": "URLs",
	} {
		if got := plural(name); got != want {
			t.Errorf("plural(%q) = %q, want %q", name, got, want)
		}
	}
}
