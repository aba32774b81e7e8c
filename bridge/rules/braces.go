package rules

// maxAlternatives bounds the words that a brace expansion stands for.
const maxAlternatives = 256

// expandBraces returns the words that the lists in braces of a word stand for, such as a/x and a/y for
// a/{x,y}. plain reports of each byte that no quote is around it. The word itself is the result if it has no
// list; ok is false if the lists stand for more than maxAlternatives words. A range such as {1..3} becomes
// an unknown part, that is a NUL.
func expandBraces(bytes []byte, plain []bool) (words []string, ok bool) {
	open, end, commas := braceList(bytes, plain)
	if open < 0 {
		return []string{string(bytes)}, true
	}
	join := func(from, to int) {
		middle, middlePlain := bytes[from:to], plain[from:to]
		if len(commas) == 0 {
			middle, middlePlain = []byte{0}, []bool{false}
		}
		word := append(append(append([]byte(nil), bytes[:open]...), middle...), bytes[end+1:]...)
		marks := append(append(append([]bool(nil), plain[:open]...), middlePlain...), plain[end+1:]...)
		inner, fits := expandBraces(word, marks)
		ok = ok && fits
		words = append(words, inner...)
	}
	ok = true
	from := open + 1
	for _, comma := range append(commas, end) {
		if len(words) > maxAlternatives || !ok {
			return nil, false
		}
		join(from, comma)
		from = comma + 1
	}
	return words, ok && len(words) <= maxAlternatives
}

// braceList returns the first list or range in braces, and its commas; open is -1 if there is none.
func braceList(bytes []byte, plain []bool) (open, end int, commas []int) {
	for open = range bytes {
		if bytes[open] != '{' || !plain[open] {
			continue
		}
		depth, dots := 0, false
		commas = nil
		for end = open; end < len(bytes); end++ {
			switch {
			case !plain[end]:
			case bytes[end] == '{':
				depth++
			case bytes[end] == ',' && depth == 1:
				commas = append(commas, end)
			case bytes[end] == '.' && depth == 1:
				dots = dots || bytes[end-1] == '.'
			case bytes[end] == '}':
				depth--
			}
			if depth == 0 {
				break
			}
		}
		if end < len(bytes) && (len(commas) > 0 || dots) {
			return open, end, commas
		}
	}
	return -1, 0, nil
}
