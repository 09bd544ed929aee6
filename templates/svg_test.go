package templates

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

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
			if !strings.Contains(text, ">"+e.words+"<") {
				t.Errorf("%s: its key lacks %q", name, e.words)
			}
		}
		for _, want := range []string{"prefers-color-scheme: dark", "svg .ink", "--paper: #"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: its style lacks %q", name, want)
			}
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
