package wire

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

func TestTexts_ReadAsTheyAlwaysDid(t *testing.T) {
	golden := []byte{2, 'p', '1', 3, 'a', ':', 'b'} // a built item
	texts := []string{"p1", "a:b"}
	if got := AppendTexts(nil, texts); !bytes.Equal(got, golden) {
		t.Errorf("encoded as %x, want %x", got, golden)
	}
	got, err := ReadTexts(golden, "id")
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(texts, got), "decoded")
}

func TestTextSet_HasWhatWasAdded(t *testing.T) {
	for _, begun := range []int{0, 1, fewTexts, fewTexts + 1, 100} {
		var texts []string
		for i := range 100 {
			texts = append(texts, fmt.Sprint(i))
		}
		set := SetOf(texts[:begun])
		for i, text := range texts {
			if had := i < begun; set.Has(text) != had || set.Add(text) == had || !set.Has(text) {
				t.Fatalf("of %d: %s was there: %v", begun, text, had)
			}
		}
		if set.Has("") || set.Add("99") {
			t.Errorf("of %d: it has the empty text, or lacks the last", begun)
		}
	}
}

// A set does not write into the texts it was made from.
func TestSetOf_LeavesTheTextsAlone(t *testing.T) {
	texts := []string{"a", "b"}
	set := SetOf(texts[:1])
	set.Add("c")
	proof.Equal(t, texts[1], "b", "b")
}
