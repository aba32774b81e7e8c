//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"codex-bridge.example/cmd/bridge-bench/internal/table"
)

// tools measures a call of a command tool, from the stand-in's item/tool/call to the response,
// against the same command started by the stand-in.
func (b *bench) tools(int) error {
	file := filepath.Join(b.dir, "tools.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, toolsOn, strconv.Quote(b.cat)), 0o600); err != nil {
		return err
	}
	c, err := b.startProxy(pipes, append(b.env(toolLoad), "CODEX_BRIDGE_CONFIG="+file))
	if err != nil {
		return err
	}
	times, err := c.toolCalls()
	if err == nil {
		err = c.close()
	}
	if err != nil {
		c.kill()
		return err
	}
	b.table.Add(table.Row{Key: "tools/added", Title: "a call of a tool that is a command", What: "added to the command", Unit: "ms", Goal: table.AtMost(3),
		Note: "p50; %.1f ms, command alone %.1f"}, times.Call-times.Alone, times.Call, times.Alone)
	return nil
}

// toolTimes are medians, in ms.
type toolTimes struct{ Call, Alone float64 }

func (c *chain) toolCalls() (times toolTimes, err error) {
	if err = c.hello(); err != nil {
		return times, err
	}
	if err = c.send(initialized); err != nil {
		return times, err
	}
	line, err := c.line()
	if err != nil {
		return times, err
	}
	var told struct{ Params toolTimes }
	if err = json.Unmarshal(line, &told); err == nil && told.Params.Call == 0 {
		err = fmt.Errorf("the stand-in sent %s", line)
	}
	return told.Params, err
}

// callTools is the stand-in's part.
func callTools(in *bufio.Reader) error {
	const count, warm = 60, 10
	cat, err := exec.LookPath("cat")
	if err != nil {
		return err
	}
	var calls, alone []float64
	for i := range count {
		begin := time.Now()
		line := fmt.Sprintf(`{"id":%d,"method":"item/tool/call","params":{"threadId":%q,"turnId":"1","callId":"c%d","namespace":null,"tool":"echo","arguments":{"n":%d}}}`, i, thread, i, i)
		if err := writeAll(1, []byte(line+"\n")); err != nil {
			return err
		}
		reply, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		took := ms(time.Since(begin))
		if want := fmt.Sprintf(`{\"n\":%d}`, i); !bytes.Contains(reply, []byte(want)) {
			return fmt.Errorf("the response to a call is %s", reply)
		}
		begin = time.Now()
		cmd := exec.Command(cat)
		cmd.Stdin = bytes.NewReader([]byte("{}\n"))
		if _, err := cmd.Output(); err != nil {
			return err
		}
		if i >= warm {
			calls, alone = append(calls, took), append(alone, ms(time.Since(begin)))
		}
	}
	raw, err := json.Marshal(map[string]any{"method": "bench/tools", "params": toolTimes{table.Median(calls), table.Median(alone)}})
	if err != nil {
		return err
	}
	return writeAll(1, append(raw, '\n'))
}
