package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"

	"github.com/ringtree/ringtree/internal/proof"
)

// prove runs the tests of internal/whole with that name, all of each, and returns what
// they have printed.
func (b *bench) prove(test string) ([]byte, error) {
	if err := os.Setenv(proof.Prove, "all"); err != nil {
		return nil, err
	}
	defer os.Unsetenv(proof.Prove)
	return b.goCommand("test", "-v", "-count=1", "-timeout", "2h", "-run", "^"+test+"$", "./internal/whole")
}

var releasesNumbers = regexp.MustCompile(`(\d+) runs of two releases with \d+ clients: answers (\d+), that say ErrNeedsRebuild (\d+), missing (\d+)`)

// twoReleases reports what is found through a newer release's indexes while an older one
// starts, sleeps, wakes and is rolled back to, and whether the table of two releases in
// the docs is what they do.
func twoReleases(b *bench) error {
	out, err := b.prove("TestMatrix_OfTwoReleases_NoAnswerMissesARecord")
	found := releasesNumbers.FindSubmatch(out)
	if found == nil {
		return errors.Join(err, errors.New("the runs of two releases have printed no numbers"))
	}
	var n [5]float64
	for i, text := range found[1:] {
		n[i], _ = strconv.ParseFloat(string(text), 64)
	}
	b.report("runs of two releases side by side, with 16 clients", n[0], target{})
	b.report("of their answers, those that say ErrNeedsRebuild, %", 100*n[2]/n[1], target{}.in("%"))
	b.report("of their answers, those that miss a record", n[3], exactly(0))
	out, err = b.prove("TestReleases_DoSideBySideWhatTheTableSays")
	b.report("changes of the table of two releases", float64(bytes.Count(out, []byte("    --- "))), target{})
	b.report("of these other than the table says", float64(bytes.Count(out, []byte("    --- FAIL"))), exactly(0))
	return err
}

// matrices are the tests that go through a matrix, by what it is of.
var matrices = []struct{ of, test string }{
	{"faults", "TestMatrix_OfFaults_EverythingIsAsTheRecordsSayOrSaysSo"},
	{"one lost key", "TestMatrix_OfLosses_EveryAnswerIsRightOrSaysSo"},
	{"one flipped bit", "TestMatrix_OfDamage_EveryAnswerIsRightOrSaysSo"},
	{"one of two servers lost", "TestMatrix_OfLostServers_EveryAnswerIsRightOrSaysSo"},
	{"two releases", "TestMatrix_OfTwoReleases_NoAnswerMissesARecord"},
}

var matrixNumbers = regexp.MustCompile(`\*\*(\d+) cells\*\*: right \d+, says so \d+, less (\d+), wrong and silent (\d+); not noticeable (\d+)`)

// reliability reports what is found in each matrix of docs/reliability.md.
func reliability(b *bench) error {
	var errs []error
	all := 0.0
	for _, m := range matrices {
		out, err := b.prove(m.test)
		errs = append(errs, err)
		found := matrixNumbers.FindSubmatch(out)
		if found == nil {
			errs = append(errs, fmt.Errorf("the matrix of %s has printed no numbers", m.of))
			continue
		}
		var n [4]float64
		for i, text := range found[1:] {
			n[i], _ = strconv.ParseFloat(string(text), 64)
		}
		all += n[0]
		b.report("cells of the matrix of "+m.of, n[0], target{})
		b.report("of these with less, within the limits of docs/reliability.md", n[1], target{})
		b.report("of these not noticeable", n[3], target{})
		b.report("of these wrong and silent", n[2], exactly(0))
	}
	b.report("cells of all matrices", all, atLeast(300))
	return errors.Join(errs...)
}
