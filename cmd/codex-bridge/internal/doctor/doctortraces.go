package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/relay/trace"
)

// examineTraces checks the folder of the traces, if tracing is on. It creates nothing.
func examineTraces(cfg *config.Config) []finding {
	if !cfg.Trace.Enabled {
		return nil
	}
	folder, err := assembly.TraceFolder()
	if err != nil {
		return []finding{{"traces", Broken, problem.Text(err), ""}}
	}
	if _, err := os.Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return []finding{{"traces", Fine, "none yet; " + folder + " is created with the first thread", ""}}
	}
	err = statefolder.Ensure(folder)
	var access *statefolder.AccessError
	if errors.As(err, &access) {
		return []finding{{"traces", Broken, access.Path + " " + access.Problem, access.Hint}}
	}
	files, listErr := trace.List(folder)
	if err = errors.Join(err, listErr); err != nil {
		return []finding{{"traces", Broken, problem.Text(err), "nothing is captured until this is fixed"}}
	}
	var bytes int64
	for _, f := range files {
		bytes += f.Bytes
	}
	return []finding{{"traces", Fine, fmt.Sprintf("%d, %d bytes in %s; prompts and answers are in them", len(files), bytes, folder), ""}}
}
