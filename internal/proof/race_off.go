//go:build !race

package proof

const race = false
