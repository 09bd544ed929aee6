package console

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Version is that of the objects. It rises when a program that reads them would have to
// change.
const Version = 1

// Object writes v, a struct, as an object in a line, with the version and with what it is.
func (c *Console) Object(kind string, v any) error {
	fields, err := JSON(v)
	if err != nil {
		return err
	}
	rest := bytes.TrimPrefix(fields, []byte("{"))
	between := ","
	if rest[0] == '}' {
		between = ""
	}
	_, err = fmt.Fprintf(c, `{"v":%d,"type":%q%s%s`+"\n", Version, kind, between, rest)
	return err
}

// JSON returns v as JSON, in which text stays as people read it.
func JSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
