package main

// The figures that take hours are measured one by one, by hand: docs/reliability.md has
// what they have shown.

// longKills is wholeKills on bolt and Redis, with more rounds.
func longKills(b *bench) error { return b.kills(1000, onRedis) }
