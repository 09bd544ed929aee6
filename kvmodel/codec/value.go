package codec

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// Marshal returns v, of any type, as a msgpack map by field name. It is for types without a
// generated codec.
func Marshal(v any) ([]byte, error) { return msgpack.Marshal(v) }

// Unmarshal reads the output of Marshal into v. Missing fields are left unchanged, and unknown ones
// are skipped. The error is an ErrCorrupt.
func Unmarshal(data []byte, v any) error {
	if err := msgpack.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
