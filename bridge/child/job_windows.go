package child

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Job is a child with its descendants, which end with the bridge.
type Job struct{ handle windows.Handle }

// Prepare creates the job and sets how cmd is started.
func (j *Job) Prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return
	}
	j.handle = job
}

// Started adds the started cmd to the job.
func (j *Job) Started(cmd *exec.Cmd) {
	if j.handle == 0 {
		return
	}
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(cmd.Process.Pid))
	if err != nil {
		return
	}
	_ = windows.AssignProcessToJobObject(j.handle, process)
	_ = windows.CloseHandle(process)
}

// Kill ends all processes in the job.
func (j *Job) Kill(cmd *exec.Cmd) {
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
	_ = cmd.Process.Kill()
}

// Close closes the job, which ends all processes in it.
func (j *Job) Close() {
	if j.handle != 0 {
		_ = windows.CloseHandle(j.handle)
		j.handle = 0
	}
}

type group struct{ job Job }

func (g *group) prepare(cmd *exec.Cmd) { g.job.Prepare(cmd) }
func (g *group) started(cmd *exec.Cmd) { g.job.Started(cmd) }
func (g *group) kill(cmd *exec.Cmd)    { g.job.Kill(cmd) }
func (g *group) release()              { g.job.Close() }

// waitAndKill waits for the child to end, and ends the others in the job.
func (g *group) waitAndKill(cmd *exec.Cmd) {
	_ = Wait(cmd)
	g.job.Kill(cmd)
}

// prepareSentry does nothing: the job ends with the bridge.
func (*group) prepareSentry() {}

// watch does nothing, like prepareSentry.
func (*group) watch(*exec.Cmd) {}

func (*group) wait(cmd *exec.Cmd) error { return Wait(cmd) }

// mark returns env: the job knows its processes.
func (*group) mark(env []string) []string { return env }

// waitSettleAndKill waits for the child to end, calls settle, and ends the others in the job.
func (g *group) waitSettleAndKill(cmd *exec.Cmd, settle func()) error {
	err := Wait(cmd)
	settle()
	g.job.Kill(cmd)
	return err
}

// terminate returns false: Windows has no such signal.
func (*group) terminate(*exec.Cmd) bool { return false }

// strays would be processes that have left the job; there are none.
type strays struct{}

func (*group) strays(*exec.Cmd, <-chan struct{}) strays { return strays{} }

func (strays) kill() {}
