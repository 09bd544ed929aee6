package proof

import (
	"strings"
	"sync"
)

// Log records log output. A test may read it while others write.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write appends p to the output.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns the output so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Lines returns the lines of the output so far.
func (l *Log) Lines() []string {
	text := strings.TrimSpace(l.String())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
