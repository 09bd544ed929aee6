package conduit

// Models returns the records of a, for tests that look behind it.
func (a *App) Models() *Models { return a.m }
