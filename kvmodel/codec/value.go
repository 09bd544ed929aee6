package codec

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5"
)

// Marshal returns v, of any type, as a msgpack map by field name. It is for what has no
// generated codec.
func Marshal(v any) ([]byte, error) { return msgpack.Marshal(v) }

// Unmarshal reads what Marshal has written into v. Fields that are missing stay as they are,
// and unknown ones are passed over. The error is an ErrCorrupt.
func Unmarshal(data []byte, v any) error {
	if err := msgpack.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
