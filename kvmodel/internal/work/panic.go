package work

import "fmt"

// Recover returns the result of f, or an error if f panics. what names f in the error.
func Recover(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return f()
}
