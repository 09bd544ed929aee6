package storeurl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
)

// Keep returns s with a cache if opts ask for one, or closes s.
func Keep(s kv.Store, opts nearkv.Options) (kv.Store, error) {
	if opts.Bytes == 0 {
		return s, nil
	}
	near, err := nearkv.New(s, opts)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return near, nil
}

// Near returns the value of the option near: 0, or a size such as 64MB, optionally followed by a
// comma and the maximum age of an answer. With aged, for stores that report no changes, the age is
// required.
func (o *Options) Near(form string, aged bool) (opts nearkv.Options) {
	text, ok := o.Text("near", form)
	if !ok || text == "0" {
		return opts
	}
	size, age, hasAge := strings.Cut(text, ",")
	bytes, sizeErr := parseSize(size)
	d, ageErr := time.ParseDuration(age)
	switch {
	case sizeErr != nil:
		o.Bad("near", text, "0 or "+sizeErr.Error())
	case aged && !hasAge:
		o.Bad("near", text, "a size and how old an answer may be, such as 64MB,500ms, since no one tells what has changed")
	case hasAge && (ageErr != nil || d <= 0):
		o.Bad("near", text, "a size and how old an answer may be, such as 64MB,500ms")
	default:
		opts = nearkv.Options{Bytes: bytes, Age: d}
	}
	return opts
}

// Cache returns the value of the option cache: 0 if it is not given, and -1 for no cache.
func (o *Options) Cache() int {
	text, ok := o.Text("cache", "SIZE")
	switch {
	case !ok:
		return 0
	case text == "0":
		return -1
	}
	bytes, err := parseSize(text)
	if err != nil {
		o.Bad("cache", text, "0 or "+err.Error())
	}
	return bytes
}

const (
	leastNear = 1
	mostNear  = 1 << 20
)

func parseSize(text string) (int, error) {
	number, ok := strings.CutSuffix(text, "MB")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < leastNear || n > mostNear {
		return 0, fmt.Errorf("a size of %dMB to %dMB, such as 64MB", leastNear, mostNear)
	}
	return n << 20, nil
}
