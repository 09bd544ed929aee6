package inspect

import "time"

// LineOf is lineOf.
var LineOf = lineOf

// Lines returns steps as lines, one every ten seconds.
func Lines(steps ...Step) (lines []string) {
	all, now := make(starts), time.Now()
	for i, s := range steps {
		lines = append(lines, all.line(s, now.Add(time.Duration(i)*10*time.Second)))
	}
	return lines
}

// AtTerminal returns c as if someone sat at its input.
func (c Config) AtTerminal() Config {
	c.atTerminal = true
	return c
}

// Verbs returns the names of all verbs, each with those of its flags.
func Verbs() map[string][]string {
	all := make(map[string][]string)
	for _, v := range allVerbs() {
		all[v.name] = v.takes()
	}
	return all
}
