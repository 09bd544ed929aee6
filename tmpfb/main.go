package main

import (
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

func main() { _ = kvmodel.ErrExists; s, _ := boltkv.Open("x.db", boltkv.Options{}); _ = s }
