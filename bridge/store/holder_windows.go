package store

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/windows"
)

func hostname() (string, error) { return os.Hostname() }

func processStart(pid int) (string, error) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
		return "", errNoProcess
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	var code uint32
	if err := windows.GetExitCodeProcess(process, &code); err != nil {
		return "", err
	}
	const alive = 259
	if code != alive {
		return "", errNoProcess
	}
	var created, exited, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &created, &exited, &kernel, &user); err != nil {
		return "", err
	}
	return strconv.FormatInt(created.Nanoseconds(), 10), nil
}
