package allowlist

import "fmt"

// Nearest returns the known name that is most like name, if one is near enough
// to be a slip of the keyboard: one edit, or one for every three bytes, and some
// byte in common.
func Nearest(name string, known []string) (string, bool) {
	best, distance := "", min(max(1, len(name)/3)+1, len(name))
	for _, k := range known {
		if d := editDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	return best, best != ""
}

// suggest is the fix for an unknown name.
func suggest(name string, known []string) string {
	if near, ok := Nearest(name, known); ok {
		return fmt.Sprintf("write %s", near)
	}
	return ""
}

// editDistance is the Levenshtein distance of two names, in bytes.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
