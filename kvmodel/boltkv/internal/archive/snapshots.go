package archive

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"
)

// Snapshot is all that the store held after one commit.
type Snapshot struct {
	Term  uint64
	Last  uint64    // the number of that commit
	Taken time.Time // not before that commit was made
	Items string    // the name of the object that has it
}

func snapshotName(term, last uint64) string { return fmt.Sprintf("snapshot-%08d-%020d", term, last) }

const itemsBegin = "items-"

// PutSnapshot ships what write writes, which returns what that is.
func (a *Archive) PutSnapshot(ctx context.Context, term uint64, write func(context.Context, io.Writer) (last uint64, taken time.Time, err error)) error {
	items := itemsBegin + time.Now().UTC().Format("20060102-150405.000000000")
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, to := io.Pipe()
	var last uint64
	var taken time.Time
	written := make(chan struct{})
	go func() {
		defer close(written)
		var err error
		last, taken, err = write(ctx, to)
		_ = to.CloseWithError(err)
	}()
	err := a.Folder.PutNew(ctx, items, from)
	// If the folder did not read all, nobody will.
	_ = from.Close()
	<-written
	if err != nil {
		return err
	}
	return a.Folder.Put(ctx, snapshotName(term, last), a.encode(note{term: term, seq: last, at: taken.UnixNano(), text: items}))
}

// Snapshots returns all snapshots whose commits count, the oldest first.
func (a *Archive) Snapshots(ctx context.Context, terms []Term) (all []Snapshot, err error) {
	names, err := a.Folder.List(ctx, "snapshot-")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		term, last, ok := numbers(name, "snapshot-")
		if until, _ := Until(terms, term); !ok || last > until {
			continue
		}
		n, err := a.note(ctx, name)
		if isMissing(err) {
			continue // It was thinned.
		}
		if err != nil {
			return nil, err
		}
		all = append(all, Snapshot{Term: term, Last: last, Taken: time.Unix(0, n.at), Items: n.text})
	}
	slices.SortFunc(all, func(a, b Snapshot) int { return a.Taken.Compare(b.Taken) })
	return all, nil
}

// Newest returns the newest snapshot; not ok if there is none.
func (a *Archive) Newest(ctx context.Context, terms []Term) (s Snapshot, ok bool, err error) {
	all, err := a.Snapshots(ctx, terms)
	if err != nil || len(all) == 0 {
		return s, false, err
	}
	return all[len(all)-1], true, nil
}

// OpenSnapshot returns what PutSnapshot has shipped.
func (a *Archive) OpenSnapshot(ctx context.Context, s Snapshot) (io.ReadCloser, error) {
	return a.Folder.Get(ctx, s.Items)
}

// LastGap returns the number of the first commit behind the last gap; 0 if there is none.
func (a *Archive) LastGap(ctx context.Context) (last uint64, err error) {
	names, err := a.Folder.List(ctx, "gap-")
	for _, name := range names {
		if _, first, ok := numbers(name, "gap-"); ok {
			last = max(last, first)
		}
	}
	return last, err
}

const (
	// logsFor is how long the commits are kept: any moment of that time can be restored.
	logsFor = 7 * 24 * time.Hour

	// snapshotsFor is how long snapshots are kept.
	snapshotsFor = 30 * 24 * time.Hour

	// abandonedFor is how old items are of which nothing says that they are whole.
	abandonedFor = 7 * 24 * time.Hour
)

// Thin deletes what is older than the rule says: the commits before the newest snapshot that
// is at least a week old, and snapshots of more than thirty days. The newest snapshot stays.
func (a *Archive) Thin(ctx context.Context, terms []Term, now time.Time) error {
	snapshots, err := a.Snapshots(ctx, terms)
	if err != nil || len(snapshots) == 0 {
		return err
	}
	oldest := -1 // of those from which on there are commits
	named := make(map[string]bool)
	for i, s := range snapshots {
		switch age := now.Sub(s.Taken); {
		case age > snapshotsFor && i < len(snapshots)-1:
			if err := a.Folder.Delete(ctx, snapshotName(s.Term, s.Last)); err != nil {
				return err
			}
			continue
		case age >= logsFor:
			oldest = i
		}
		named[s.Items] = true
	}
	if err := a.thinItems(ctx, named, now); err != nil || oldest < 0 {
		return err
	}
	return a.thinPieces(ctx, snapshots[oldest].Last)
}

// thinItems deletes the items that no snapshot names, unless they may be about to get one.
func (a *Archive) thinItems(ctx context.Context, named map[string]bool, now time.Time) error {
	names, err := a.Folder.List(ctx, itemsBegin)
	if err != nil {
		return err
	}
	limit := itemsBegin + now.Add(-abandonedFor).UTC().Format("20060102-150405.000000000")
	for _, name := range names {
		if !named[name] && name < limit {
			if err := a.Folder.Delete(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// thinPieces deletes the pieces that have only commits up to number last.
func (a *Archive) thinPieces(ctx context.Context, last uint64) error {
	for _, begin := range []string{"piece-", "gap-"} {
		names, err := a.Folder.List(ctx, begin)
		if err != nil {
			return err
		}
		for i := range len(names) - 1 {
			term, _, ok := numbers(names[i], begin)
			nextTerm, next, ok2 := numbers(names[i+1], begin)
			if !ok || !ok2 || nextTerm != term || next > last+1 {
				continue
			}
			if err := a.Folder.Delete(ctx, names[i]); err != nil {
				return err
			}
		}
	}
	return nil
}
