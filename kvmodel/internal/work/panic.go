package work

import "fmt"

// Recover returns what f returns, or an error if f panics: what has panicked.
func Recover(what string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %v", what, p)
		}
	}()
	return f()
}
