package wire

import "bytes"

// appendUsual is appendTimestamp for the text that nearly every timestamp is: YYYY-MM-DDTHH:MM:SS[.ffffff]Z, of years
// after Christ and days that every year has. Its digits are those that PostgreSQL reads. It is false for all others,
// right and wrong.
func (f *Form) appendUsual(dst, text []byte) ([]byte, bool) {
	const clock, fraction = len("YYYY-MM-DDT"), len("YYYY-MM-DDTHH:MM:SS")
	last := len(text) - 1
	if last < fraction || last > fraction+len(".ffffff") || text[last] != 'Z' || text[clock-1] != 'T' {
		return dst, false
	}
	if !isUsualDay(text[:clock-1]) || !isUsualClock(text[clock:fraction]) {
		return dst, false
	}
	places := text[fraction:last]
	if len(places) > 0 {
		if len(places) == 1 || places[0] != '.' || !areDigits(places[1:]) {
			return dst, false
		}
		places = bytes.TrimSuffix(bytes.TrimRight(places, "0"), []byte("."))
	}
	dst = append(append(dst, text[:clock-1]...), ' ')
	dst = append(append(dst, text[clock:fraction]...), places...)
	return f.appendZone(dst, text[last:]), true
}

// isUsualDay knows YYYY-MM-DD except for the 29th of February.
func isUsualDay(text []byte) bool {
	const daysOf = "\x1f\x1c\x1f\x1e\x1f\x1e\x1f\x1f\x1e\x1f\x1e\x1f"
	year, month, day := 100*twoDigits(text[0:])+twoDigits(text[2:]), twoDigits(text[5:]), twoDigits(text[8:])
	return areDigits(text[:4]) && year > 0 && text[4] == '-' && 1 <= month && month <= 12 &&
		text[7] == '-' && 1 <= day && day <= uint(daysOf[month-1])
}

// isUsualClock knows HH:MM:SS before midnight.
func isUsualClock(text []byte) bool {
	return twoDigits(text[0:]) < 24 && text[2] == ':' && twoDigits(text[3:]) < 60 && text[5] == ':' && twoDigits(text[6:]) < 60
}

// twoDigits is the number that text begins with, 100 for what is none.
func twoDigits(text []byte) uint {
	tens, ones := uint(text[0]-'0'), uint(text[1]-'0')
	if tens > 9 || ones > 9 {
		return 100
	}
	return 10*tens + ones
}

func areDigits(text []byte) bool {
	for _, c := range text {
		if c < '0' || '9' < c {
			return false
		}
	}
	return true
}
