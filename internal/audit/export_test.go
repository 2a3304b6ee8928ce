package audit

// AppendJSON is appendJSON, for tests.
func AppendJSON(dst []byte, text string, limit int) []byte { return appendJSON(dst, text, limit) }
