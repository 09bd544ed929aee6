package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// figure is one promise and its measured value.
type figure struct {
	group  string
	name   string
	value  float64
	target target
	err    error // why it could not be measured
}

func (f figure) ok() bool { return f.err == nil && f.target.met(f.value) }

// String returns the figure's line.
func (f figure) String() string {
	verdict := "ok"
	if !f.ok() {
		verdict = "SHORT"
	}
	value := f.target.show(f.value)
	if f.err != nil {
		value = "not measured: " + f.err.Error()
	}
	return fmt.Sprintf("%-58s %10s  %-14s %s", f.name, value, f.target, verdict)
}

// target is the bound that a value must keep.
type target struct {
	sign  string // =, <= or >=
	limit float64
	unit  string // x for a ratio, s for seconds, ns for nanoseconds

	// varies: the value depends on the machine, as all times do.
	varies bool
}

func exactly(limit float64) target { return target{sign: "=", limit: limit} }
func atMost(limit float64) target  { return target{sign: "<=", limit: limit} }
func atLeast(limit float64) target { return target{sign: ">=", limit: limit} }

// in returns the target for a value in unit that depends on the machine.
func (t target) in(unit string) target { t.unit, t.varies = unit, true; return t }

// ratio returns the target for a ratio of two times that were measured in one
// run.
func (t target) ratio() target { return t.in("x") }

// varying returns the target for a count that is not the same everywhere.
func (t target) varying() target { t.varies = true; return t }

func (t target) met(value float64) bool {
	switch t.sign {
	case "=":
		return value == t.limit
	case "<=":
		return value <= t.limit
	default:
		return value >= t.limit
	}
}

// String returns the target as it is printed, "-" where there is none.
func (t target) String() string {
	if t.sign == "" {
		return "-"
	}
	return t.sign + " " + strconv.FormatFloat(t.limit, 'f', -1, 64) + t.unit
}

// show returns value with as many digits as make sense.
func (t target) show(value float64) string {
	if t.unit != "" {
		return strconv.FormatFloat(value, 'f', 2, 64) + t.unit
	}
	return strconv.FormatFloat(value, 'f', -1, 64)
}

// bench is one run of the command: its flags and its results.
type bench struct {
	ctx context.Context
	n   int    // as -n says
	dir string // for files, removed at the end
	out io.Writer

	group   string
	figures []figure
}

// run measures a group. A figure that cannot be measured is short, and the rest is
// still measured.
func (b *bench) run(g group) {
	b.group = g.name
	for _, measure := range g.measure {
		if b.ctx.Err() != nil {
			return
		}
		if err := measure(b); err != nil {
			b.add(figure{name: g.name, err: err})
		}
	}
}

// report adds a figure and prints it.
func (b *bench) report(name string, value float64, t target) {
	b.add(figure{name: name, value: value, target: t})
}

func (b *bench) add(f figure) {
	f.group = b.group
	b.figures = append(b.figures, f)
	fmt.Fprintln(b.out, f)
}

func (b *bench) short() int {
	return count(slices.Values(b.figures), func(f figure) bool { return !f.ok() })
}

// size returns what -n says, or else the figure's own size.
func (b *bench) size(own int) int {
	if b.n > 0 {
		return b.n
	}
	return own
}
