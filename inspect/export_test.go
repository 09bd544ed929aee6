package inspect

import (
	"strings"
	"time"
)

func init() { recheckDelay = 20 * time.Millisecond }

// Lines returns steps as lines, one every ten seconds.
func Lines(steps ...Step) (lines []string) {
	all, now := make(starts), time.Now()
	for i, s := range steps {
		lines = append(lines, all.line(s, now.Add(time.Duration(i)*10*time.Second)))
	}
	return lines
}

// ServeWith is Serve with its errors.
var ServeWith = serve

// AtTerminal returns c as if someone sat at its input.
func (c Config) AtTerminal() Config {
	c.atTerminal = true
	return c
}

// Verbs returns the names of all verbs, each with those of its flags.
func Verbs() map[string][]string {
	all := make(map[string][]string)
	for _, some := range verbs {
		for _, v := range some {
			all[v.name()] = strings.Fields(v.flags)
		}
	}
	return all
}
