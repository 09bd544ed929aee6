package main

import (
	"bytes"
	"errors"
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

var lossCell = regexp.MustCompile(`\b(right|says so|less|WRONG)\b`)

// losses reports what a library answers that has lost any one key, or one of two
// servers.
func losses(b *bench) error {
	out, err := b.prove("TestMatrix_OfLosses_EveryAnswerIsRightOrSaysSo")
	_, table, ok := bytes.Cut(out, []byte("one key of each class lost\n"))
	if !ok {
		return errors.Join(err, errors.New("the losses of one key have printed no matrix"))
	}
	table, _, _ = bytes.Cut(table, []byte("\n---"))
	if _, err := b.out.Write(append(table, '\n')); err != nil {
		return err
	}
	cells, all := map[string]int{}, 0
	for _, cell := range lossCell.FindAllString(string(table), -1) {
		cells[cell]++
		all++
	}
	b.report("cells of the matrix of one lost key", float64(all), target{})
	b.report("of these with less, within the limits that docs/stores.md tells", float64(cells["less"]), target{})
	b.report("of these wrong, and not said so", float64(cells["WRONG"]), exactly(0))
	out, errServers := b.prove("TestMatrix_OfLostServers_EveryAnswerIsRightOrSaysSo")
	b.report("losses of one of two servers", float64(bytes.Count(out, []byte("    --- "))), target{})
	b.report("of these with an answer that is wrong, and not said so", float64(bytes.Count(out, []byte("    --- FAIL"))), exactly(0))
	return errors.Join(err, errServers)
}
