package wire

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTexts_ReadAsTheyAlwaysDid(t *testing.T) {
	golden := []byte{2, 'p', '1', 3, 'a', ':', 'b'} // a built item
	texts := []string{"p1", "a:b"}
	if got := AppendTexts(nil, texts); !bytes.Equal(got, golden) {
		t.Errorf("encoded as %x, want %x", got, golden)
	}
	got, err := ReadTexts(golden, "id")
	if diff := cmp.Diff(texts, got); err != nil || diff != "" {
		t.Errorf("decoded: %v (-want +got)\n%s", err, diff)
	}
}
