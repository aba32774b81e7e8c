//go:build !portable && (amd64 || arm64)

package supervise

import (
	"os/exec"
	"testing"
)

func TestCheck(t *testing.T) {
	if err := Check((*exec.Cmd).Start, (*exec.Cmd).Wait); err != nil {
		t.Error(err)
	}
}
