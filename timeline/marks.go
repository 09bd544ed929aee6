package timeline

import (
	"cmp"
	"reflect"
	"time"
)

// Mark is the position of a record in an archive: a time, a number or a text.
type Mark interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~string | time.Time
}

// farAhead is after all times of an archive.
var farAhead = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// top returns the mark above a whole archive.
func top[M Mark]() (m M) {
	if t, ok := any(&m).(*time.Time); ok {
		*t = farAhead
	}
	return m
}

// compareMarks compares a and b.
func compareMarks[M Mark](a, b M) int {
	if a, ok := any(a).(time.Time); ok {
		return a.Compare(any(b).(time.Time))
	}
	switch a, b := reflect.ValueOf(a), reflect.ValueOf(b); {
	case a.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	default:
		return cmp.Compare(a.String(), b.String())
	}
}

// after returns the lowest mark above m: the next millisecond, number or text. Above the highest
// number is the top.
func after[M Mark](m M) M {
	if t, ok := any(&m).(*time.Time); ok {
		*t = t.Truncate(time.Millisecond).Add(time.Millisecond)
		return m
	}
	switch next := reflect.ValueOf(&m).Elem(); {
	case next.CanInt():
		if next.SetInt(next.Int() + 1); next.Int() == -1<<(next.Type().Bits()-1) {
			return top[M]()
		}
	case next.CanUint():
		next.SetUint(next.Uint() + 1)
	default:
		next.SetString(next.String() + "\x00")
	}
	return m
}
