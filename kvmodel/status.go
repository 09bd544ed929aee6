package kvmodel

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/internal/intent"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// statuses are the HTTP statuses of errors, most severe first: failures of the store before its
// answers. They are numbers, so that programs without pages need not import net/http.
var statuses = []struct {
	err    error
	status int
}{
	{ErrCorrupt, 500},
	{kv.ErrLost, 503},
	{kv.ErrUnclear, 503},
	{kv.ErrUnavailable, 503},
	{ErrNeedsRebuild, 503},
	{ErrReadOnly, 503},
	{ErrUnknownFormat, 503},
	{context.DeadlineExceeded, 503},
	{context.Canceled, 503},
	{kv.ErrTooLarge, 413},
	{ErrInvalid, 422},
	{kv.ErrConflict, 409},
	{kv.ErrExists, 409},
	{ErrBadCursor, 400},
	{kv.ErrNotFound, 404},
}

// HTTPStatus returns the HTTP status for a request that failed with err: 200 for nil, 422 for a
// [Refused] error unless its reason has a status of its own, and 500 for errors from outside this
// module. The most severe of joined errors counts.
func HTTPStatus(err error) int {
	if err == nil {
		return 200
	}
	for _, s := range statuses {
		if errors.Is(err, s.err) {
			return s.status
		}
	}
	if intent.IsRefused(err) {
		return 422
	}
	return 500
}
