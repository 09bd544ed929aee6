package plug

import "errors"

// ErrNeedsRebuild is kvmodel.ErrNeedsRebuild.
var ErrNeedsRebuild = errors.New("index needs a rebuild")
