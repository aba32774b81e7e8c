package config

func managedFile() string { return "/Library/Application Support/codex-bridge/config.toml" }
