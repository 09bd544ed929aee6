package load

import "testing"

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
