package rebuild

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// DuplicatesError lists the records that hold unique values of others, so that an index could not
// be built. It is an ErrExists.
type DuplicatesError struct {
	Model   string
	Records []*core.TakenError
	More    int // whose ids were lost with a process
}

func (e *DuplicatesError) Error() string {
	const shown = 10
	var b strings.Builder
	what := cmp.Or(strings.Join(e.Indexes(), ", "), "indexes")
	fmt.Fprintf(&b, "%s: %d records are in conflict, so %s cannot be built", e.Model, len(e.Records)+e.More, what)
	for i, taken := range e.Records[:min(len(e.Records), shown)] {
		fmt.Fprintf(&b, "%s %s: %v", [2]string{":", ";"}[min(i, 1)], kv.Quote(taken.By), taken)
	}
	if more := len(e.Records) + e.More - min(len(e.Records), shown); more > 0 {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

func (e *DuplicatesError) Indexes() []string {
	all := make(map[string]bool)
	for _, taken := range e.Records {
		all[taken.Index] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func (e *DuplicatesError) Is(target error) bool { return target == kv.ErrExists }

func (e *DuplicatesError) Unwrap() []error {
	errs := make([]error, len(e.Records))
	for i, taken := range e.Records {
		errs[i] = taken
	}
	return errs
}
