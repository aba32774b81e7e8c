package child

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Job is a child and what it started: they end with us.
type Job struct{ handle windows.Handle }

// Prepare says how cmd is to be started.
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

// Started takes cmd into the job.
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

// Kill ends all that is in the job.
func (j *Job) Kill(cmd *exec.Cmd) {
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
	_ = cmd.Process.Kill()
}

// Close gives the job back, and ends what is still in it.
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

// wait waits for the child's end and ends what is left in the job.
func (g *group) waitAndKill(cmd *exec.Cmd) {
	_ = Wait(cmd)
	g.job.Kill(cmd)
}

// expected is called before the child is started that will be watched.
func (*group) prepareSentry() {}

// watched has the group end with us even when we are killed: the job does.
func (*group) watch(*exec.Cmd) {}

func (*group) wait(cmd *exec.Cmd) error { return Wait(cmd) }

// mark adds to a child's environment what its orphans are known by: the job knows them.
func (*group) mark(env []string) []string { return env }

// alone waits for the child's end, settles, and ends what is left in the job.
func (g *group) waitSettleAndKill(cmd *exec.Cmd, settle func()) error {
	err := Wait(cmd)
	settle()
	g.job.Kill(cmd)
	return err
}

// terminate can't be asked for here.
func (*group) terminate(*exec.Cmd) bool { return false }

// strays are what has left the job: nothing.
type strays struct{}

func (*group) strays(*exec.Cmd, <-chan struct{}) strays { return strays{} }

func (strays) kill() {}
