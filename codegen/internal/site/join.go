package site

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/output"
)

// The lines of a new model go above these marks in site.go.
const (
	pagesMark   = "// kvgen scaffold adds pages above this line."
	entriesMark = "// kvgen scaffold adds entries above this line."
)

func Join(path string, m *model.Model) (output.File, error) {
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return output.File{}, fmt.Errorf("%s does not exist: run this in the directory of a site that kvgen new has written", path)
	}
	if err != nil {
		return output.File{}, err
	}
	text := string(old)
	for mark, line := range map[string]string{
		pagesMark:   fmt.Sprintf("s.route%s(mux)", m.Collection),
		entriesMark: fmt.Sprintf("{Text: %q, Href: %q},", english.Capital(snake(m.Collection, ' ')), "/"+records(m)),
	} {
		if strings.Contains(text, line) {
			continue
		}
		before, after, found := strings.Cut(text, mark)
		if !found {
			return output.File{}, fmt.Errorf("%s lacks the line\n\t%s\nadd it where kvgen may insert:\n\t%s", path, mark, line)
		}
		text = before + line + "\n" + before[strings.LastIndexByte(before, '\n')+1:] + mark + after
	}
	return output.File{Path: path, Text: []byte(text)}, nil
}
