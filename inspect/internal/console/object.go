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
	var fields bytes.Buffer
	e := json.NewEncoder(&fields)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	rest := bytes.TrimPrefix(fields.Bytes(), []byte("{"))
	between := ","
	if rest[0] == '}' {
		between = ""
	}
	_, err := fmt.Fprintf(c, `{"v":%d,"type":%q%s%s`, Version, kind, between, rest)
	return err
}
