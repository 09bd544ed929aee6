package face

import (
	"crypto/sha256"
	_ "embed"
	"fmt"

	"github.com/ringtree/ringtree/templates"
)

//go:embed face.css
var own []byte

// Style is the stylesheet, including the styles of pictures.
var Style = append(own, templates.PictureStyle...)

// StyleName is the name of the stylesheet's file. It changes with the stylesheet.
var StyleName = fmt.Sprintf("face.%.6x.css", sha256.Sum256(Style))
