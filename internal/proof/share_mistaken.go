//go:build mistaken

package proof

// share is 1 for code with a deliberate mistake: the seeds that notice it may be the last.
const share = 1
