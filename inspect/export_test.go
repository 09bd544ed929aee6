package inspect

// LineOf is lineOf.
var LineOf = lineOf

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
