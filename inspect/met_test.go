package inspect

import (
	"reflect"
	"testing"
)

// With 64 bits, of a billion records two would have had the same hash in one export of forty,
// which would have left one of them out.
func TestMet_TellsTextsApartBy128Bits(t *testing.T) {
	for _, of := range []any{met{}, keySet{}.hashes} {
		if bits := 8 * reflect.TypeOf(of).Key().Size(); bits < 128 {
			t.Errorf("%T: %d bits", of, bits)
		}
	}
}
