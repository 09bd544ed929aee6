package face

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
)

// Style is the stylesheet.
//
//go:embed face.css
var Style []byte

// StyleName is the name of the stylesheet's file. It changes with the stylesheet.
var StyleName = fmt.Sprintf("face.%.6x.css", sha256.Sum256(Style))
