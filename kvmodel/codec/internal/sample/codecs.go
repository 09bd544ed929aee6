package sample

import "github.com/ringtree/ringtree/kvmodel/codec"

// Pages returns the codec of Page.
func Pages() *codec.Model[Page] { return &pageCodec }

// Pantries returns the codec of Pantry.
func Pantries() *codec.Model[Pantry] { return &pantryCodec }

// Kitchens returns the codec of Kitchen.
func Kitchens() *codec.Model[Kitchen] { return &kitchenCodec }

// OldNotes returns the codec of OldNote.
func OldNotes() *codec.Model[OldNote] { return &oldNoteCodec }

// NewNotes returns the codec of NewNote.
func NewNotes() *codec.Model[NewNote] { return &newNoteCodec }
