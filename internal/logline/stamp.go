package logline

// What follows reads the two stamps that nearly every log is made of, in their plain form and in the years 1700 to 2199. On
// anything else it has no answer, and package time, which allocates, is asked.

// rfc3339 reads 2006-01-02T15:04:05[.999999999](Z|-07:00).
func rfc3339(s []byte) (ns int64, ok bool) {
	if len(s) < len("2006-01-02T15:04:05Z") || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' {
		return 0, false
	}
	at, ok := instant(number(s[:4]), number(s[5:7]), number(s[8:10]), number(s[11:13]), number(s[14:16]), number(s[17:19]))
	if !ok {
		return 0, false
	}
	rest, frac := s[19:], int64(0)
	if rest[0] == '.' {
		n, unit := 1, int64(1e9)
		for ; n < len(rest) && n <= fracDigits && '0' <= rest[n] && rest[n] <= '9'; n++ {
			frac, unit = frac*10+int64(rest[n]-'0'), unit/10
		}
		if n == 1 || n == len(rest) {
			return 0, false
		}
		frac *= unit
		rest = rest[n:]
	}
	zone := 0
	switch {
	case len(rest) == 1 && rest[0] == 'Z':
	case len(rest) == 6 && rest[3] == ':':
		if zone, ok = offset(rest[0], number(rest[1:3]), number(rest[4:6])); !ok {
			return 0, false
		}
	default:
		return 0, false
	}
	return (at-int64(zone))*1e9 + frac, true
}

// common reads 02/Jan/2006:15:04:05 -0700.
func common(s []byte) (ns int64, ok bool) {
	if len(s) != len(logTime) || s[2] != '/' || s[6] != '/' || s[11] != ':' || s[14] != ':' || s[17] != ':' || s[20] != ' ' {
		return 0, false
	}
	at, ok := instant(number(s[7:11]), month(s[3:6]), number(s[:2]), number(s[12:14]), number(s[15:17]), number(s[18:20]))
	if !ok {
		return 0, false
	}
	zone, ok := offset(s[21], number(s[22:24]), number(s[24:26]))
	return (at - int64(zone)) * 1e9, ok
}

// number is the value of up to four digits, and below 0 if they are none.
func number(s []byte) (n int) {
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}

func month(s []byte) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for m := range 12 {
		if names[3*m] == s[0] && names[3*m+1] == s[1] && names[3*m+2] == s[2] {
			return m + 1
		}
	}
	return -1
}

// offset is a zone's seconds east of Greenwich, with the bounds of package time.
func offset(sign byte, hours, minutes int) (seconds int, ok bool) {
	if hours < 0 || hours > 24 || minutes < 0 || minutes > 60 {
		return 0, false
	}
	seconds = hours*3600 + minutes*60
	switch sign {
	case '+':
		return seconds, true
	case '-':
		return -seconds, true
	}
	return 0, false
}

// instant is the Unix time, in seconds, of a date and a time of day in UTC.
func instant(year, month, day, hour, minute, second int) (int64, bool) {
	if year < 1700 || year > 2199 || month < 1 || month > 12 || day < 1 || day > days(year, month) ||
		hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 {
		return 0, false
	}
	// Years begin in March here, so that the leap day is a year's last.
	y, m := year, month-3
	if m < 0 {
		y, m = y-1, m+12
	}
	day += y*365 + y/4 - y/100 + y/400 + (153*m+2)/5 // since the last day of February of the year 0
	const epoch = 719469                             // 1970-01-01, so counted
	return int64(day-epoch)*86400 + int64(hour*3600+minute*60+second), true
}

func days(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}
