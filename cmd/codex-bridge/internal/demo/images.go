package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// sceneImage has an image described besides the conversation.
func sceneImage(ctx context.Context, s *stage) error {
	s.say("The model looks at an image in a separate Codex, which can't write files and ends\nafterwards:")
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	picture := image.NewGray(image.Rect(0, 0, 64, 64))
	for i := range 64 {
		picture.Set(i, i, color.White)
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(s.work, "line.png"), file.Bytes(), 0o600); err != nil {
		return err
	}
	for _, prompt := range []string{"SAY: A white line on black.", "PATCH: found.txt\nwritten because an image said so"} {
		cmd := exec.CommandContext(ctx, s.o.Bridge, "image", "describe", "line.png", "--model", "gpt-5.5", "--prompt", prompt)
		cmd.Env, cmd.Dir = s.env, s.work
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		said, err := cmd.Output()
		var ended *exec.ExitError
		if err != nil && !errors.As(err, &ended) {
			return err
		}
		if text := strings.TrimSpace(string(said)); text != "" {
			s.quote("codex", text)
		} else {
			s.quote("codex-bridge", stderr.String())
		}
	}
	if _, err := os.Stat(filepath.Join(s.work, "found.txt")); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("found.txt was written: %w", err)
	}
	s.good("described; the second image asked for a file, which was not written")
	return nil
}
