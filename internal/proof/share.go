//go:build !mistaken

package proof

// share says how many of a sweep's seeds the short cut takes: one in so many.
const share = 3
