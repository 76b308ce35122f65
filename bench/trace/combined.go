package trace

import "github.com/weir-go/weir/internal/logline"

// parseCombined is a parser. Only client and time are used: clients write the rest.
func parseCombined(line []byte) (int64, []byte, int, error) {
	var a logline.Access
	if err := a.Parse(line); err != nil {
		return 0, nil, 0, err
	}
	return a.Time, a.Client, 1, nil
}
