package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var named = map[string]error{
	"ErrNotFound": kvmodel.ErrNotFound, "ErrExists": kvmodel.ErrExists, "ErrConflict": kvmodel.ErrConflict, "ErrInvalid": kvmodel.ErrInvalid,
	"ErrTooLarge": kvmodel.ErrTooLarge, "ErrUnavailable": kvmodel.ErrUnavailable, "ErrUnclear": kvmodel.ErrUnclear, "ErrLost": kvmodel.ErrLost,
	"ErrNeedsRebuild": kvmodel.ErrNeedsRebuild, "ErrCorrupt": kvmodel.ErrCorrupt, "ErrBadCursor": kvmodel.ErrBadCursor, "ErrReadOnly": kvmodel.ErrReadOnly,
	"ErrUnknownFormat": kvmodel.ErrUnknownFormat,
}

func TestHTTPStatus_IsThatOfTheTableInTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/data-classes.md")
	must(t, err)
	rows := regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\|.*\\| (\\d+) \\|$").FindAllStringSubmatch(string(page), -1)
	for _, row := range rows {
		want, _ := strconv.Atoi(row[2])
		if got := kvmodel.HTTPStatus(fmt.Errorf("here: %w", named[row[1]])); named[row[1]] == nil || got != want || http.StatusText(got) == "" {
			t.Errorf("%s is %d, want %d", row[1], got, want)
		}
	}
	if len(rows) != len(named) {
		t.Errorf("the page has %d errors, the test %d", len(rows), len(named))
	}
}

func TestHTTPStatus_OfJoinedErrorsTheGravestCounts(t *testing.T) {
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 200},
		{errors.New("something else"), 500},
		{&kvmodel.TakenError{}, 409},
		{kvmodel.Problems{"slug": "It is empty."}, 422},
		{kv.Join(kvmodel.ErrNotFound, kv.ErrUnavailable), 503},
		{kv.Join(&kvmodel.ItemError{Index: 1, Err: kvmodel.ErrExists}, &kvmodel.ItemError{Index: 2, Err: kvmodel.ErrInvalid}), 422},
		{fmt.Errorf("%w: %w", kv.ErrUnclear, context.DeadlineExceeded), 503},
		{context.Canceled, 503},
	} {
		if got := kvmodel.HTTPStatus(c.err); got != c.want {
			t.Errorf("%v is %d, want %d", c.err, got, c.want)
		}
	}
}

func TestProblemsOf_SaysWhatIsWrongWithFields(t *testing.T) {
	p := kvmodel.Problems{}
	p.Add("Title", "It is empty.")
	p.Add("title", "It is too long.")
	p.Add("text", "")
	invalid := fmt.Errorf("%w: %w", kvmodel.ErrInvalid, p.Err())
	taken := &kvmodel.TakenError{Model: "Page", Index: "BySlug", Fields: []string{"Slug"}, Value: "tea"}
	both := &kvmodel.TakenError{Model: "Page", Index: "BySitePath", Fields: []string{"Site", "Path"}, Value: "a:b"}
	for _, c := range []struct {
		err  error
		want kvmodel.Problems
	}{
		{invalid, kvmodel.Problems{"title": "It is empty."}},
		{fmt.Errorf("create: %w", taken), kvmodel.Problems{"slug": "“tea” is taken."}},
		{both, kvmodel.Problems{"site": "These are taken together.", "path": "These are taken together."}},
		{errors.Join(invalid, taken), kvmodel.Problems{"title": "It is empty.", "slug": "“tea” is taken."}},
		{kvmodel.ErrNotFound, kvmodel.Problems{}},
		{nil, kvmodel.Problems{}},
	} {
		wantSame(t, c.want, kvmodel.ProblemsOf(c.err), "%v", c.err)
	}
	if err := (kvmodel.Problems{}).Err(); err != nil {
		t.Errorf("no problems are %v", err)
	}
}
