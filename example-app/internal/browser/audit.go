package browser

import _ "embed"

//go:embed audit.js
var audit string

// Audit returns what a visitor with a keyboard, a screen reader, poor sight or a
// narrow screen would stumble over on the page as it is shown now, in its
// present width and colours; nil if there is nothing.
func (p *Page) Audit() []string {
	p.t.Helper()
	var complaints []string
	p.Eval("("+audit+")("+names+")", &complaints)
	return complaints
}
