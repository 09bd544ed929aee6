package templates

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func names(branches []*branch) []string {
	var all []string
	for _, b := range branches {
		all = append(all, b.node.Name)
	}
	return all
}

func TestTreePicture_DrawsAllThatHasRoom(t *testing.T) {
	d := sampleTree.draw()
	want := []string{
		"key01111", "key01110", "key01101", "key01100", "key01011", "key01010", "key01001", "key01000",
		"key00111", "key00110", "key00101", "key00100", "key00011", "key00010", "key00001", "key00000",
	}
	proof.NoDiff(t, cmp.Diff(want, names(d.rows)), "rows")
	proof.NoDiff(t, cmp.Diff([]string{"key0", "key011", "key010", "key001", "key000"}, names(d.routers)), "routers")
}

func TestTreePicture_FoldsWhatHasNone(t *testing.T) {
	d := sampleDeepTree().draw()
	if len(d.rows) > treeRows {
		t.Errorf("there are %d rows, want at most %d", len(d.rows), treeRows)
	}
	var onWay []string
	for _, b := range append(d.routers, d.rows...) {
		if b.onWay {
			onWay = append(onWay, b.node.Name)
		}
	}
	proof.NoDiff(t, cmp.Diff([]string{"key010", "key01001", "key0100110", "key010011011"}, onWay), "way")
	proof.Equal(t, sampleDeepTree().grow().label(), "key0…key010", "want one router for a chain")
	total := int64(0)
	for _, row := range d.rows {
		total += row.node.Count
	}
	proof.Equal(t, total, sampleDeepTree().Root.Count, "the rows count")
}

func TestTreePicture_RowsNeverOverlap(t *testing.T) {
	for _, tree := range []TreePicture{sampleTree, sampleDeepTree(), {Root: leaves("key0", 1, 2, 3, 4)}} {
		d := tree.draw()
		for i := 1; i < len(d.rows); i++ {
			if d.rows[i].y-d.rows[i-1].y < treeRow {
				t.Errorf("%s: rows %d and %d are %.1f apart", tree.Title, i-1, i, d.rows[i].y-d.rows[i-1].y)
			}
		}
	}
}

func strokes(path string) int { return strings.Count(path, "M") }

func TestRingPicture_DrawsAStrokeForEachSlot(t *testing.T) {
	r := sampleRing(8, 32)
	d := r.draw()
	got := []string{fmt.Sprint(strokes(d.filled.String()) + strokes(d.newest.String())), fmt.Sprint(strokes(d.stale.String())), fmt.Sprint(strokes(d.missing.String()))}
	proof.NoDiff(t, cmp.Diff([]string{r.count(Filled), r.count(Stale), r.count(Missing)}, got), "filled, stale, missing")
	if strokes(d.rim.String()) != 8 || strokes(d.hand.String()) != 1 {
		t.Errorf("want 8 arcs of rim and one hand, got %d and %d", strokes(d.rim.String()), strokes(d.hand.String()))
	}
}

func TestRingPicture_DrawsNoMoreStrokesThanCanBeSeen(t *testing.T) {
	for _, segments := range []int{1, 7, 64, 1000} {
		r := sampleRing(segments, 64_000/segments)
		d := r.draw()
		drawn := strokes(d.filled.String()) + strokes(d.newest.String()) + strokes(d.stale.String()) + strokes(d.missing.String())
		// A segment's last stroke may stand for fewer slots than the others.
		if limit := ringStrokes + segments; drawn > limit {
			t.Errorf("%d segments: %d strokes, want at most %d", segments, drawn, limit)
		}
		if len(d.names) > ringNames+2 {
			t.Errorf("%d segments: %d names, want at most %d", segments, len(d.names), ringNames+2)
		}
	}
}

func TestRuler_PlacesRanksByTheirLogarithm(t *testing.T) {
	r := Ruler{Of: 10_000}
	for rank, want := range map[int64]float64{1: rulerLeft, 100: (rulerLeft + rulerRight) / 2, 10_000: rulerRight, 99_999: rulerRight} {
		if got := r.at(rank); got < want-.01 || got > want+.01 {
			t.Errorf("rank %d: want %.1f, got %.1f", rank, want, got)
		}
	}
}

func TestRuler_NumbersDoNotTouch(t *testing.T) {
	for of := int64(1); of < 1e17; of = of*3 + 1 {
		end := -1.0
		for _, m := range (Ruler{Rank: 1, Of: of}).marks() {
			width := float64(len(m.text)) * rulerGlyph
			left := m.x - width*map[string]float64{"start": 0, "middle": .5, "end": 1}[m.anchor]
			if left <= end {
				t.Errorf("of %d: %s begins at %.1f, before %.1f", of, m.text, left, end)
			}
			end = left + width
		}
	}
}

func TestListPicture_FoldsTheRest(t *testing.T) {
	l := sampleList(80)
	rows := l.rows()
	if len(rows) != listRows || rows[listRows-1].name != "65 more" {
		t.Errorf("want 16 rows, the last one for 65 segments, got %d and %q", len(rows), rows[len(rows)-1].name)
	}
}

func TestWords_AreAsPeopleReadThem(t *testing.T) {
	got := []string{
		Grouped(0), Grouped(999), Grouped(1000), Grouped(-1234567), Grouped(-999), Span(1, 10, 3456), Span(11, 20, 0),
		fmt.Sprint(Counted(1, "view", "views")), fmt.Sprint(Counted(1234, "view", "views")), fmt.Sprint(bytesOf(999)), fmt.Sprint(bytesOf(9_990)), fmt.Sprint(bytesOf(2_400_000)),
		shortened("key01110", 8), shortened("key0111011", 8), initial("  ¿qué?"), initial("雪"), initial("—"), decimal(-0.01), decimal(2.25),
	}
	want := []string{
		"0", "999", "1,000", "-1,234,567", "-999", "1–10 of 3,456", "11–20",
		"{1 view}", "{1,234 views}", "{999 B}", "{10 KB}", "{2.4 MB}",
		"key01110", "…0111011", "Q", "雪", "·", "0", "2.2",
	}
	proof.NoDiff(t, cmp.Diff(want, got), "mismatch")
}

func TestWriteSVG_WritesAFileThatStandsAlone(t *testing.T) {
	for name, p := range map[string]Picture{
		"ring": sampleRing(8, 32), "tree": sampleTree, "list": sampleList(6), "steps": sampleSteps,
	} {
		var file bytes.Buffer
		if err := WriteSVG(t.Context(), &file, p); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := file.String()
		for _, e := range p.key() {
			proof.Contains(t, text, ">"+e.words+"<")
		}
		for _, want := range []string{"prefers-color-scheme: dark", "svg .ink", "--paper: #"} {
			proof.Contains(t, text, want)
		}
		for _, not := range []string{"light-dark", "<figure", "href"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: has %q", name, not)
			}
		}
		decoder := xml.NewDecoder(&file)
		var err error
		for err == nil {
			_, err = decoder.Token()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: is no XML: %v", name, err)
		}
	}
}

func TestWriteSVG_KeepsItsKeyWithinItsWidth(t *testing.T) {
	for _, p := range []Picture{sampleRing(8, 32), sampleTree, sampleDeepTree(), sampleList(80)} {
		for _, e := range placeKey(p.key(), 500) {
			if end := e.x + keySign + keyGlyph*float64(len([]rune(e.words))); end > 500 {
				t.Errorf("%T: %q ends at %.0f", p, e.words, end)
			}
		}
	}
}
