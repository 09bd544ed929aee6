package main

import (
	"errors"
	"os"
	"regexp"
	"strconv"
)

var historyNumbers = regexp.MustCompile(`(\d+) histories explained`)

// historyTests is how many tests make histories, with the stores of each.
const historyTests = 3*5 + 5

// longHistories reports how many histories of real servers an order explains: calls of
// lists and sequences of several processes, and ops of the stores themselves.
func longHistories(b *bench) error {
	n := b.size(100_000)
	if err := os.Setenv("RINGTREE_HISTORIES", strconv.Itoa((n+historyTests-1)/historyTests)); err != nil {
		return err
	}
	defer os.Unsetenv("RINGTREE_HISTORIES")
	out, err := b.goCommand("test", "-v", "-count=1", "-p", "1", "-timeout", "48h", "-run", "^TestLinear(_.*Is|izable_EveryBackendIs)$", "./index", "./internal/proof")
	explained := 0
	for _, found := range historyNumbers.FindAllSubmatch(out, -1) {
		n, err := strconv.Atoi(string(found[1]))
		if err != nil {
			return err
		}
		explained += n
	}
	b.report("histories of memkv, bolt, memcached, Redis and a Redis Cluster", float64(explained), atLeast(float64(n)).varying())
	wrong := 0.0
	if err != nil {
		wrong = 1
	}
	b.report("of their tests that found one that no order explains", wrong, exactly(0))
	return errors.Join(err)
}
