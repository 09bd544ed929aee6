package proof

import (
	"strings"
	"sync"
)

// Log keeps what was logged. A test may read it while others log.
type Log struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write adds to what was logged.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns what was logged so far.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Lines returns the lines that were logged so far.
func (l *Log) Lines() []string {
	text := strings.TrimSpace(l.String())
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
