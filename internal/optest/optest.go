// Package optest shows operations in failures of tests, and checks the errors they ended in.
package optest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Shown is how many bytes of a value are shown.
const Shown = 48

var Sentinels = []error{
	kv.ErrNotFound, kv.ErrExists, kv.ErrConflict, kv.ErrNotStored, kv.ErrSealed, kv.ErrSkipped,
	kv.ErrNotNumber, kv.ErrBadKey, kv.ErrTooLarge, kv.ErrBadOp, kv.ErrUnavailable,
	kv.ErrUnclear, kv.ErrLost,
}

// EndsIn reports whether err is want and no other sentinel.
func EndsIn(err, want error) bool {
	if err == nil || want == nil {
		return err == nil && want == nil
	}
	return !slices.ContainsFunc(Sentinels, func(s error) bool { return errors.Is(err, s) != (s == want) })
}

// Show returns op, without its result.
func Show(op kv.Op) string { return ShowCut(op, len(op.Value)) }

// ShowCut is Show for an op whose value had size bytes before it was cut.
func ShowCut(op kv.Op, size int) string {
	text := fmt.Sprintf("%v %.40q", op.Kind, op.Key)
	if op.Value != nil {
		text += " " + ShowValue(op.Value, size)
	}
	if op.Version != 0 {
		text += fmt.Sprintf(" version %d", op.Version)
	}
	if op.Delta != 0 {
		text += fmt.Sprintf(" delta %d", op.Delta)
	}
	if op.TTL != 0 {
		text += fmt.Sprintf(" TTL %v", op.TTL)
	}
	if len(op.Unless) > 0 {
		text += fmt.Sprintf(" unless %.40q", op.Unless)
	}
	return text
}

func ShowAnswer(op kv.Op) string {
	switch r := op.Result; {
	case r.Err != nil:
		return r.Err.Error()
	case op.Kind == kv.Get:
		return ShowItem(r)
	case op.Kind == kv.Increment:
		return fmt.Sprint(r.Number)
	default:
		return "ok"
	}
}

func ShowItem(r kv.Result) string {
	if r.Err != nil {
		return fmt.Sprintf("(%v)", r.Err)
	}
	return fmt.Sprintf("%s (version %d)", ShowValue(r.Value, len(r.Value)), r.Version)
}

func ShowValue(value []byte, size int) string {
	if size <= Shown {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%.*q... (%d bytes)", Shown, value, size)
}
