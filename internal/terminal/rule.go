package terminal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// Rule is one line of the allow or block list (contracts, section 3): tokens
// that must equal the first tokens of a resolved command. The zero value
// matches nothing.
type Rule struct {
	Text string // as it was written
	Why  string // the operator's reason, for messages
	// Children are programs that a command of this rule may execute. They are
	// kept for the kernel gate and not read here.
	Children []string
	Pos      decision.Position

	tokens []token
	exact  bool // a final $: nothing may follow
}

// token is one token of a rule: alternatives, or any one word when there are
// none.
type token struct {
	alternatives []string
}

func (t token) any() bool { return len(t.alternatives) == 0 }

func (t token) match(s string) bool {
	return t.any() || slices.Contains(t.alternatives, s)
}

// notInRule are characters that would mean something to a shell. A rule is
// matched against decoded words, so a rule that holds one is a misunderstanding
// and would match nothing.
const notInRule = "'\"\\`$;&<>()#"

// ParseRule reads a rule: tokens split on blanks, each a literal, a|b for
// alternatives, or * for any one word; a final $ lets nothing follow. The error
// names the token that is wrong.
func ParseRule(text string) (Rule, error) {
	r := Rule{Text: text}
	if _, err := checkText(text); err != "" {
		return Rule{}, fmt.Errorf("terminal: rule %q holds %s", text, err)
	}
	for word := range strings.FieldsSeq(text) {
		if r.exact {
			return Rule{}, fmt.Errorf("terminal: rule %q: %q follows the final $", text, word)
		}
		if word == "$" {
			r.exact = true
			continue
		}
		t, err := parseToken(word)
		if err != nil {
			return Rule{}, fmt.Errorf("terminal: rule %q: token %q: %w", text, word, err)
		}
		r.tokens = append(r.tokens, t)
	}
	if len(r.tokens) == 0 {
		return Rule{}, fmt.Errorf("terminal: rule %q names no command", text)
	}
	return r, nil
}

func parseToken(word string) (token, error) {
	if word == "*" {
		return token{}, nil
	}
	if i := strings.IndexAny(word, notInRule); i >= 0 {
		return token{}, fmt.Errorf("%q means nothing in a rule; write the plain words of the command", word[i])
	}
	if strings.HasPrefix(word, "!") {
		return token{}, errors.New("a rule that refuses stands under block, without the mark")
	}
	alternatives := strings.Split(word, "|")
	for _, a := range alternatives {
		switch {
		case a == "":
			return token{}, errors.New("an alternative is empty; write a|b without blanks, and one rule a command")
		case strings.Contains(a, "*"):
			return token{}, errors.New("* stands for a whole word; more words may follow a rule anyway")
		}
	}
	return token{alternatives: alternatives}, nil
}
