package browser

import (
	_ "embed"
	"fmt"
)

//go:embed names.js
var names string

// place is where something is on the page, or what is there instead.
type place struct {
	Found   bool
	X, Y    float64
	Covered string
	Names   []string
}

// click clicks the middle of the link, button or field of that name, once it is
// there and nothing covers it.
func (p *Page) click(kind, name string) {
	p.t.Helper()
	var at place
	p.await(fmt.Sprintf("click %s %q", kind, name), func() error {
		at = place{}
		if err := p.eval(names+".place("+quote(kind)+", "+quote(name)+")", &at); err != nil {
			return err
		}
		if !at.Found {
			return fmt.Errorf("there are only %q", at.Names)
		}
		if at.Covered != "" {
			return fmt.Errorf("it is covered by %s", at.Covered)
		}
		return nil
	})
	p.must("Page.bringToFront", nil, nil)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		p.must("Input.dispatchMouseEvent", params{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// Click clicks the link or button of that name, which leads to no other page.
// The name may be given by its beginning.
func (p *Page) Click(name string) {
	p.t.Helper()
	p.click("control", name)
}

// Follow clicks the link or button of that name, and returns when the page that
// it leads to is complete.
func (p *Page) Follow(name string) {
	p.t.Helper()
	p.load(fmt.Sprintf("follow %q", name), func() { p.click("control", name) })
}

// Submit clicks the button of that name, which sends a form, and returns when
// the page that answers it is complete.
func (p *Page) Submit(name string) {
	p.t.Helper()
	p.load(fmt.Sprintf("submit %q", name), func() { p.click("button", name) })
}

// Fill writes text into the field of that label, in place of what is there.
func (p *Page) Fill(label, text string) {
	p.t.Helper()
	p.click("field", label)
	p.Eval("document.activeElement.select()", nil)
	if text == "" {
		p.Press("Delete")
		return
	}
	p.must("Input.insertText", params{"text": text}, nil)
}

// Value returns what stands in the field of that label.
func (p *Page) Value(label string) string {
	p.t.Helper()
	var value *string
	p.await(fmt.Sprintf("value of field %q", label), func() error {
		if err := p.eval("("+names+".find('field', "+quote(label)+") || {value: null}).value", &value); err != nil {
			return err
		}
		if value == nil {
			return fmt.Errorf("there is no such field")
		}
		return nil
	})
	return *value
}

// keyCodes are those of the keys that tests press.
var keyCodes = map[string]int{"Tab": 9, "Enter": 13, "Delete": 46}

// Press presses a key: Tab, Enter or Delete.
func (p *Page) Press(key string) {
	p.t.Helper()
	code, ok := keyCodes[key]
	if !ok {
		p.fail("press %q: this key is not known here", key)
	}
	p.must("Page.bringToFront", nil, nil)
	text := map[string]string{"Enter": "\r"}[key]
	for _, kind := range []string{"keyDown", "keyUp"} {
		with := params{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
		if kind == "keyDown" && text != "" {
			with["text"] = text
		}
		p.must("Input.dispatchKeyEvent", with, nil)
	}
}

// HasControl tells whether there is a link or button of exactly that name.
func (p *Page) HasControl(name string) bool {
	p.t.Helper()
	has := false
	p.Eval("(() => { const n = "+names+"; return n.all('control').some((e) => n.name(e) === "+quote(name)+"); })()", &has)
	return has
}
