package guard_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
)

func TestWindowsPath(t *testing.T) {
	for path, want := range map[string]string{
		`C:\work\a.txt`:             `C:\work\a.txt`,
		`c:/work/a.txt`:             `c:/work/a.txt`,
		`C:\`:                       `C:\`,
		`C:\work\..\a`:              `C:\work\..\a`,
		`C:\work\.\a`:               `C:\work\.\a`,
		`C:\work\.git\hooks`:        `C:\work\.git\hooks`,
		`C:\work\console\nullable`:  `C:\work\console\nullable`,
		`C:\work\com\lpt\com12`:     `C:\work\com\lpt\com12`,
		`\\?\C:\work\a.txt`:         `C:\work\a.txt`,
		`\\?\c:\work`:               `c:\work`,
		`\??\C:\work`:               `C:\work`,
		`\\server\share\a`:          `\\server\share\a`,
		`\\?\UNC\server\share\a`:    `\\server\share\a`,
		`\\?\unc\server\share\a`:    `\\server\share\a`,
		`C:\a dot.d\in the middle\`: `C:\a dot.d\in the middle\`,
	} {
		if got, err := guard.WindowsPath(path); got != want || err != nil {
			t.Errorf("%s: got %s, %v; want %s", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		`C:\work\.git.`:                        "dots and spaces",
		`C:\work\.git \hooks`:                  "dots and spaces",
		`C:\work\.git...\hooks`:                "dots and spaces",
		`C:\work\...`:                          "dots and spaces",
		`\\?\C:\work\.git.\hooks`:              "dots and spaces",
		`C:\work\.git::$INDEX_ALLOCATION`:      "none of",
		`C:\work\a.txt:stream`:                 "none of",
		`C:\work\a.txt::$DATA`:                 "none of",
		"C:\\work\\a\tb":                       "none of",
		`C:\work\*`:                            "none of",
		`C:\work\NUL`:                          "as a device",
		`C:\work\nul.txt`:                      "as a device",
		`C:\work\con .txt`:                     "as a device",
		`C:\work\COM1`:                         "as a device",
		`C:\work\com¹`:                         "as a device",
		`C:\work\lpt9.log`:                     "as a device",
		`C:\work\CONOUT$`:                      "as a device",
		`\\.\C:\work`:                          "as a device",
		`\\.\PhysicalDrive0`:                   "as a device",
		`//./pipe/x`:                           "as a device",
		`//?/C:/work`:                          "as a device",
		`\\?\GLOBALROOT\Device\Harddisk`:       "as a device",
		`\\?\Volume{b75e2c83-0000}\work`:       "as a device",
		`\\?\\\?\C:\work`:                      "as a device",
		`\\?\pipe\x`:                           "as a device",
		`\\?\UNC\.\pipe\x`:                     "as a device",
		`\\?\UNC\server\share\a.`:              "dots and spaces",
		`\??\UNC\server\share\a:b`:             "none of",
		`C:\` + strings.Repeat(`a\`, 3) + `b.`: "dots and spaces",
	} {
		if got, err := guard.WindowsPath(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %s, %v; want an error with %q", path, got, err, want)
		}
	}
}
