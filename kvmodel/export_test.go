package kvmodel

// What tests see of the inside.

// RevOf returns the rev of a stored record.
func RevOf(data []byte) (uint64, error) {
	e, err := decodeEnvelope(data)
	return e.revision(), err
}

// BodyOf returns the model version and the body of a stored record.
func BodyOf(data []byte) (int, []byte, error) {
	e, err := decodeEnvelope(data)
	if err != nil {
		return 0, nil, err
	}
	return e.model, e.body, nil
}

// EncodeLive returns the stored form of a live record.
func EncodeLive(model int, rev uint64, body []byte) []byte {
	e := envelope{model: model, rev: rev, body: body}
	return e.encode(nil)
}
