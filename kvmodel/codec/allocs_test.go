package codec_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/codec/internal/sample"
)

// reflectedPage is a Page without methods, so msgpack v5 uses reflection.
type reflectedPage sample.Page

func newPage() *sample.Page {
	return &sample.Page{
		ID:        "01JA8Z5M3Q7W9X2C4V6B8N0KDR",
		Slug:      "a-page-about-rings-and-trees",
		Title:     "A page about rings and trees",
		Body:      strings.Repeat("All work and no play. ", 46),
		Author:    "01JA8Z5M3Q7W9X2C4V6B8N0AAA",
		Category:  "structures",
		Tags:      []string{"go", "trees", "rings"},
		CreatedAt: time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC),
		UpdatedAt: time.Date(2026, 3, 2, 12, 0, 0, 987654321, time.UTC),
		Views:     123456,
	}
}

func TestModel_Append_ReusedBufferNeedsNoAllocation(t *testing.T) {
	page, buf := newPage(), make([]byte, 0, 4096)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := sample.Pages().Append(buf[:0], page); err != nil {
			t.Fatal(err)
		}
	})
	if got != 0 {
		t.Errorf("allocations: want 0, got %v", got)
	}
}

func TestModel_Unmarshal_PageNeedsAtMostEightAllocations(t *testing.T) {
	data := marshalPage(t, newPage())
	got := testing.AllocsPerRun(1000, func() {
		var page sample.Page
		if _, err := sample.Pages().Unmarshal(data, &page); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%v allocations, %d bytes stored", got, len(data))
	if got > 8 {
		t.Errorf("allocations: want at most 8, got %v", got)
	}
}

func TestModel_Marshal_ResultIsJustItsSize(t *testing.T) {
	data := marshalPage(t, newPage())
	if cap(data) != len(data) {
		t.Errorf("want capacity %d, got %d", len(data), cap(data))
	}
}

func marshalPage(t testing.TB, page *sample.Page) []byte {
	t.Helper()
	data, err := sample.Pages().Marshal(page)
	must(t, err)
	return data
}
