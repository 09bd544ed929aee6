package inspect_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each bit of what is written counts: a flipped one is found, and said where.
func TestVerify_ABitThatIsFlippedIsFoundAndSaidWhere(t *testing.T) {
	dir, path := appFile(t)
	for _, verb := range []string{"export", "backup"} {
		to := filepath.Join(dir, verb)
		file(t, path, verb, to).want(t, 0)
		whole, err := os.ReadFile(to)
		must(t, err)
		seed := rand.Uint64()
		at := rand.New(rand.NewPCG(seed, 0))
		for range 50 {
			n, bit := at.IntN(len(whole)), at.IntN(8)
			damaged := append([]byte{}, whole...)
			damaged[n] ^= 1 << bit
			must(t, os.WriteFile(to, damaged, 0o600))
			r := say(t, "verify", to)
			if said := r.out + r.errs; r.code != 1 || !strings.Contains(said, "byte ") && !strings.Contains(said, "begin") && !strings.Contains(said, "header") {
				t.Errorf("seed %d: bit %d of byte %d of %d of the %s: exit code %d, %s", seed, bit, n, len(whole), verb, r.code, said)
			}
		}
	}
}
