package pin

// Servers returns the servers that r asks, for tests.
func Servers(r *Resolver) []string {
	var out []string
	for _, ap := range r.servers {
		out = append(out, ap.String())
	}
	return out
}
