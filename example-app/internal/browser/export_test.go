package browser

import "time"

// Hurry makes steps end in failure after d.
func (b *Browser) Hurry(d time.Duration) { b.patience = d }

func (b *Browser) Pid() int { return b.cmd.Process.Pid }
