package inspect

// LineOf is lineOf.
var LineOf = lineOf

// AtTerminal returns c as if someone sat at its input.
func (c Config) AtTerminal() Config {
	c.atTerminal = true
	return c
}
