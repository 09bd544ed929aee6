package console

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Version is the version of the objects. It increases with changes that programs must follow.
const Version = 1

// Object writes v, a struct, as an object on one line, with the version and its kind.
func (c *Console) Object(kind string, v any) {
	fields, err := JSON(v)
	if err != nil {
		c.fail(fmt.Errorf("%s: %w", kind, err))
		return
	}
	rest := bytes.TrimPrefix(fields, []byte("{"))
	between := ","
	if rest[0] == '}' {
		between = ""
	}
	fmt.Fprintf(c, `{"v":%d,"type":%q%s%s`+"\n", Version, kind, between, rest)
}

// JSON returns v as JSON, with readable text.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
