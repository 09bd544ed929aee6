package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/shelf"
)

// rig is an archive in memory.
type rig struct {
	*Archive
	t *testing.T
}

func newRig(t *testing.T) *rig {
	return &rig{&Archive{Folder: new(shelf.Shelf), Store: [16]byte{1}}, t}
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// begin begins term number n behind a commit.
func (r *rig) begin(n, from uint64) {
	r.t.Helper()
	r.check(r.Take(r.t.Context(), Term{Number: n, Token: NewToken(), Who: "a test", Since: time.Now()}))
	r.check(r.Start(r.t.Context(), n, from))
}

// piece ships the commits from one number to another, in a term that their bodies name.
func (r *rig) piece(term, from, to uint64) {
	r.t.Helper()
	p := &Piece{Term: term}
	for seq := from; seq <= to; seq++ {
		p.Commits = append(p.Commits, commitlog.Record{Seq: seq, Time: int64(seq), Body: fmt.Appendf(nil, "%d.%d", term, seq)})
	}
	r.check(r.PutPiece(r.t.Context(), p, true))
}

// commits returns the bodies of all commits behind number after.
func (r *rig) commits(after uint64) (all string, err error) {
	r.t.Helper()
	terms, err := r.Terms(r.t.Context())
	r.check(err)
	var bodies []string
	err = r.Commits(r.t.Context(), terms, Head{}, after, func(c commitlog.Record) error {
		bodies = append(bodies, string(c.Body))
		return nil
	})
	return strings.Join(bodies, " "), err
}

func (r *rig) wantCommits(after uint64, want string) {
	r.t.Helper()
	if got, err := r.commits(after); err != nil || got != want {
		r.t.Errorf("the commits behind %d are %q, %v; want %q", after, got, err, want)
	}
}

func TestArchive_Commits_OfAnEarlierTermCountUpToTheStartOfTheNext(t *testing.T) {
	r := newRig(t)
	r.begin(1, 0)
	r.piece(1, 1, 3)
	r.piece(1, 4, 6)
	r.wantCommits(0, "1.1 1.2 1.3 1.4 1.5 1.6")
	r.begin(2, 4)
	r.wantCommits(0, "1.1 1.2 1.3 1.4")
	r.piece(2, 5, 7)
	r.piece(1, 7, 9) // It came too late.
	r.wantCommits(0, "1.1 1.2 1.3 1.4 2.5 2.6 2.7")
	r.wantCommits(3, "1.4 2.5 2.6 2.7")
	r.wantCommits(7, "")
	// A term that has not started changes nothing; one that starts further back than the
	// one before takes what that had.
	r.check(r.Take(t.Context(), Term{Number: 3, Since: time.Now()}))
	r.wantCommits(0, "1.1 1.2 1.3 1.4 2.5 2.6 2.7")
	r.check(r.Start(t.Context(), 3, 3))
	r.piece(3, 4, 5)
	r.wantCommits(0, "1.1 1.2 1.3 3.4 3.5")
	if err := r.Take(t.Context(), Term{Number: 3, Since: time.Now()}); err == nil {
		t.Error("a term was begun twice")
	}
}

func TestArchive_Commits_NamesWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(r *rig)
		want  GapError
	}{
		"between two pieces": {func(r *rig) { r.piece(1, 1, 2); r.piece(1, 5, 6) }, GapError{From: 3, To: 4}},
		"with a reason": {func(r *rig) {
			r.piece(1, 1, 2)
			r.piece(1, 5, 6)
			r.check(r.PutGap(t.Context(), 1, 5, 2, "it rained"))
		}, GapError{From: 3, To: 4, Why: "it rained"}},
		"before the next term": {func(r *rig) { r.piece(1, 1, 2); r.begin(2, 4); r.piece(2, 5, 6) }, GapError{From: 3, To: 4}},
		"of the first":         {func(r *rig) { r.piece(1, 3, 4) }, GapError{From: 1, To: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.begin(1, 0)
			test.spoil(r)
			_, err := r.commits(0)
			var got *GapError
			if !errors.As(err, &got) || *got != test.want {
				t.Errorf("want %v, got %v", &test.want, err)
			}
		})
	}
}

func TestArchive_Thin_KeepsAnyMomentOfAWeekAndSnapshotsOfAMonth(t *testing.T) {
	r := newRig(t)
	r.begin(1, 0)
	now := time.Now()
	const days = 60
	for day := range uint64(days) {
		r.piece(1, 10*day+1, 10*day+10)
		taken := now.Add(-time.Duration(days-day) * 24 * time.Hour)
		r.check(r.PutSnapshot(t.Context(), 1, func(_ context.Context, to io.Writer) (uint64, time.Time, error) {
			_, err := io.WriteString(to, "all")
			return 10*day + 5, taken, err
		}))
	}
	terms, err := r.Terms(t.Context())
	r.check(err)
	r.check(r.Thin(t.Context(), terms, now))
	left, err := r.Snapshots(t.Context(), terms)
	r.check(err)
	if len(left) != 30 || now.Sub(left[0].Taken) > snapshotsFor {
		t.Fatalf("%d snapshots are left, the oldest of %v", len(left), left[0].Taken)
	}
	items, err := r.Folder.List(t.Context(), itemsBegin)
	r.check(err)
	// These are as young as this test, so none goes for its age.
	if len(items) != days {
		t.Errorf("there are items of %d snapshots", len(items))
	}
	// From the newest snapshot on that is a week old, nothing is missing.
	week := slices.IndexFunc(left, func(s Snapshot) bool { return now.Sub(s.Taken) < logsFor }) - 1
	_, err = r.commits(left[week].Last)
	r.check(err)
	if _, err := r.commits(left[week-2].Last); err == nil {
		t.Error("the commits before it are still there")
	}
	// Items that no snapshot names go when they are a week old.
	r.check(r.Thin(t.Context(), terms, now.Add(8*24*time.Hour)))
	items, err = r.Folder.List(t.Context(), itemsBegin)
	r.check(err)
	if left, err = r.Snapshots(t.Context(), terms); err != nil || len(items) != len(left) {
		t.Errorf("there are items of %d snapshots, and %d snapshots, %v", len(items), len(left), err)
	}
	r.check(r.Thin(t.Context(), terms, now.Add(1000*24*time.Hour)))
	if left, err = r.Snapshots(t.Context(), terms); err != nil || len(left) != 1 {
		t.Errorf("after years %d snapshots are left, %v; want the newest", len(left), err)
	}
}

func TestArchive_PutSnapshot_ThatFailsIsNone(t *testing.T) {
	r := newRig(t)
	r.begin(1, 0)
	broken := errors.New("broken")
	err := r.PutSnapshot(t.Context(), 1, func(_ context.Context, to io.Writer) (uint64, time.Time, error) {
		_, _ = io.WriteString(to, "half")
		return 0, time.Time{}, broken
	})
	if !errors.Is(err, broken) {
		t.Errorf("want the writer's error, got %v", err)
	}
	if names, err := r.Folder.List(t.Context(), "items-"); err != nil || len(names) > 0 {
		t.Errorf("there is %q, %v", names, err)
	}
}
